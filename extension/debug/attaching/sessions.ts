/** The debug sessions of this window; brings each to the front when it begins. */

import * as vscode from "vscode";

import { DEBUG_TYPE } from "../../contributions";
import { targetKey, type DebuggedWorker, type Target } from "./model";

/** Follows the editor's events; owned by the feature. */
export class DebugSessions implements vscode.Disposable {
  private readonly open = new Map<string, vscode.DebugSession>();
  private readonly attached = new Set<string>();
  private readonly subscriptions: vscode.Disposable[];
  private latest: Target | undefined;
  private turn = 0;

  constructor() {
    this.subscriptions = [
      vscode.debug.onDidStartDebugSession((session) => {
        this.started(session);
      }),
      vscode.debug.onDidTerminateDebugSession((session) => this.open.delete(session.id)),
    ];
  }

  get count(): number {
    return this.open.size;
  }

  /** The worker that was attached to last. */
  get last(): Target | undefined {
    return this.latest;
  }

  /** The workers that have a session now, stopped or running, with the names of their sessions. */
  get workers(): readonly DebuggedWorker[] {
    return [...this.open.values()].flatMap((session) => {
      const target = targetOfSession(session);
      return target === undefined ? [] : [{ ...target, name: session.name }];
    });
  }

  /** Keys of all workers that this window has ever attached to. */
  get everAttached(): ReadonlySet<string> {
    return this.attached;
  }

  /** Shows where the worker of an open session is stopped; false when this window has no session for it. */
  async show(target: Target): Promise<boolean> {
    const session = [...this.open.values()].find((open) => {
      const debugged = targetOfSession(open);
      return debugged !== undefined && targetKey(debugged) === targetKey(target);
    });
    if (session === undefined) {
      return false;
    }
    await this.bring(session, AT_ONCE);
    if (isInFront(session)) {
      await vscode.commands.executeCommand("workbench.action.debug.callStackTop");
    }
    return true;
  }

  dispose(): void {
    this.open.clear();
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private started(session: vscode.DebugSession): void {
    const target = targetOfSession(session);
    if (target) {
      this.open.set(session.id, session);
      this.attached.add(targetKey(target));
      this.latest = target;
      const patience = this.showsAnother(session) ? AT_ONCE : PATIENT;
      void this.bring(session, patience);
    }
  }

  /** Whether the editor shows the stop of another open session: then it doesn't show a new session's. */
  private showsAnother({ id }: vscode.DebugSession): boolean {
    const item = vscode.debug.activeStackItem;
    return (
      item !== undefined &&
      "frameId" in item &&
      item.session.id !== id &&
      this.open.has(item.session.id)
    );
  }

  /** The last one that was chosen wins: two that come to the front at once would take turns. */
  private bring(session: vscode.DebugSession, patience: Patience): Promise<void> {
    const turn = ++this.turn;
    const isWanted = (): boolean => this.open.has(session.id) && turn === this.turn;
    return bringToFront(session, isWanted, patience);
  }
}

/** The worker of a session of ours; undefined for one of another debugger. */
export function targetOfSession(session: vscode.DebugSession): Target | undefined {
  const { cluster, worker } = session.configuration as Record<string, unknown>;
  return session.type === DEBUG_TYPE && typeof cluster === "string" && typeof worker === "string"
    ? { cluster, worker }
    : undefined;
}

/**
 * Shows the debug view before a session stops.  VS Code itself shows it after the stop; made only then, as
 * for a window's first session, it leaves the variables and the call stack folded.
 */
export async function showDebugView(): Promise<void> {
  const when = vscode.workspace.getConfiguration("debug").get<string>("openDebug");
  if (when !== "neverOpen") {
    await vscode.commands.executeCommand("workbench.view.debug");
  }
}

/** The most sessions to walk through, ended ones included. */
const AT_MOST = 64;
/**
 * The editor shows the stop of a session itself, unless it shows another's.  Walking would also open the Debug
 * Console.
 */
export const PATIENT: Patience = { graceMs: 2000, stepMs: 500, limitMs: 10_000, settleMs: 1000 };
export const AT_ONCE: Patience = { ...PATIENT, graceMs: 0 };
/**
 * VS Code may move the focus back while a session settles (1.139.1, `passFocusScheduler`); more walks would fight the
 * user.
 */
const WALKS = 4;
/** How many changes or steps to wait until the editor shows a frame of the session in front. */
const WAITS = 4;

interface Patience {
  /** How long to wait for the editor, which brings a window's only session to the front itself. */
  readonly graceMs: number;
  /** How long the effect of one command is waited for. */
  readonly stepMs: number;
  /** How long it may take to bring a session to the front. */
  readonly limitMs: number;
  /** How long a session that was brought to the front is watched, since VS Code may move away again. */
  readonly settleMs: number;
}

/**
 * While one session is stopped, VS Code doesn't show another one that stops (microsoft/vscode#190973), and extensions
 * have no call for that (#336976).  To show the worker that was clicked, this uses the commands that walk through the debug consoles: each shows the
 * next session and its stop location.
 *
 * It is done once the editor has shown a frame of the session for a moment; before that VS Code may move away again.
 */
export async function bringToFront(
  session: vscode.DebugSession,
  isWanted: () => boolean,
  { graceMs, stepMs, limitMs, settleMs }: Patience,
): Promise<void> {
  const began = Date.now();
  const isWithin = (ms: number): boolean => isWanted() && Date.now() < began + ms;
  const isTimeLeft = (): boolean => isWithin(graceMs + limitMs);
  while (isWithin(graceMs) && !isShown(session)) {
    await changed(Math.min(stepMs, graceMs));
  }
  let walks = 0;
  let waits = 0;
  let focused = 0;
  const focusEditor = async (): Promise<void> => {
    if (walks > focused) {
      focused = walks;
      await vscode.commands.executeCommand("workbench.action.focusActiveEditorGroup");
    }
  };
  while (isTimeLeft()) {
    if (isShown(session)) {
      await focusEditor();
      if (await isSettled(session, walks > 0 ? settleMs : 0)) {
        break;
      }
      continue;
    }
    // The editor may still show a frame of a killed session, and none of the one in front.
    const isOverlooked = wasStopped(session) && waits >= WAITS;
    if ((!isInFront(session) || isOverlooked) && walks < WALKS) {
      walks += 1;
      await walkTo(session, stepMs, isTimeLeft);
    } else {
      waits += 1;
      await changed(stepMs);
    }
  }
  await focusEditor();
}

function isInFront(session: vscode.DebugSession): boolean {
  return vscode.debug.activeDebugSession?.id === session.id;
}

function isShown(session: vscode.DebugSession): boolean {
  const item = vscode.debug.activeStackItem;
  return item !== undefined && item.session.id === session.id && "frameId" in item;
}

/** Whether the editor shows a frame of the session now and keeps showing it for `ms`. */
async function isSettled(session: vscode.DebugSession, ms: number): Promise<boolean> {
  const end = Date.now() + ms;
  while (isShown(session) && Date.now() < end) {
    await changed(end - Date.now());
  }
  return isShown(session);
}

/** Whether the worker was stopped when it was attached; a running one has no frame. */
function wasStopped({ configuration }: vscode.DebugSession): boolean {
  return Number(configuration["line"]) > 0;
}

/** Walks at least one step: from a session in front all around to itself. */
async function walkTo(
  session: vscode.DebugSession,
  stepMs: number,
  isTimeLeft: () => boolean,
): Promise<void> {
  for (
    let walked = 0;
    walked < AT_MOST && isTimeLeft() && (walked === 0 || !isInFront(session));
    walked += 1
  ) {
    const change = changed(stepMs);
    // Backwards, since the newest session is at the end of a circular list.
    await vscode.commands.executeCommand("workbench.action.debug.prevConsole");
    if (!isInFront(session)) {
      // The effect of the command may arrive after its result; one step too many would walk past.
      await change;
    }
  }
}

/** Resolves when the editor shows another session or frame, at the latest after `ms`. */
function changed(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      listening.dispose();
      resolve();
    };
    const timer = setTimeout(done, ms);
    const listening = vscode.Disposable.from(
      vscode.debug.onDidChangeActiveDebugSession(done),
      vscode.debug.onDidChangeActiveStackItem(done),
    );
  });
}
