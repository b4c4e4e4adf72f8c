/** Begins inspections and follows their debug sessions; read when the first worker is inspected. */

import * as vscode from "vscode";

import type { App } from "../../app";
import type { Disposable } from "../../common/disposables";
import { EaglerayError } from "../../common/errors";
import { COMMANDS, DEBUG_TYPE, INSPECTION_TYPE } from "../../contributions";
import { isConfirmed, longWork } from "../../dialogs";
import { pickOrType, usedRow, type PickRow } from "../../typed_picker";
import type { Row } from "../../rows";
import { askForTrust, workspaceFolders } from "../../workspace";
import type { AdapterFactory } from "../../debug/attaching/debug_adapter";
import { AT_ONCE, bringToFront, PATIENT } from "../../debug/attaching/sessions";
import { ALL, type LiveWorker } from "../../debug/workers/messages";
import { OPEN } from "./messages";
import {
  choicesOf,
  inspectablesOf,
  keyOf,
  ofArgument,
  sessionName,
  typedPid,
  type Inspectable,
} from "./target_model";

/** Sent by the session when the user pauses a worker that our debugger can really stop. */
const PAUSE_EVENT = "eagleray.pause";
const STOP_REQUEST = "eagleray.pauseAtNextLine";

export class Inspector implements Disposable {
  private readonly open = new Map<string, vscode.DebugSession>();
  private readonly confirmed = new WeakSet<vscode.DebugSession>();
  private readonly listening: vscode.Disposable;

  constructor(
    private readonly app: App,
    private readonly factory: AdapterFactory,
  ) {
    this.listening = vscode.Disposable.from(
      vscode.debug.onDidStartDebugSession((session) => {
        if (session.type === INSPECTION_TYPE) {
          this.open.set(String(session.configuration["inspected"]), session);
          void this.bring(session, true);
        } else if (session.type === DEBUG_TYPE) {
          void this.endFor(session.configuration["worker"]);
        }
      }),
      vscode.debug.onDidTerminateDebugSession((session) => {
        if (session.type === INSPECTION_TYPE) {
          this.open.delete(String(session.configuration["inspected"]));
        }
      }),
      vscode.debug.onDidReceiveDebugSessionCustomEvent(({ session, event }) => {
        if (session.type === INSPECTION_TYPE && event === PAUSE_EVENT) {
          void this.stopReally(session);
        }
      }),
    );
  }

  dispose(): void {
    this.listening.dispose();
  }

  /** Resolves to whether a session is open, for callers of the command. */
  async inspectRows(rows: readonly Row[], args: readonly unknown[]): Promise<boolean> {
    if (!vscode.workspace.isTrusted) {
      await askForTrust(vscode.l10n.t("Trust this workspace to look inside workers."));
      return false;
    }
    const named = ofArgument(args[0]);
    const chosen = named === undefined ? inspectablesOf(rows) : [named];
    if (chosen.length === 0 && rows.some(({ row }) => row === "anyWorker" || row === "runWorker")) {
      throw noProcess();
    }
    const [first] = chosen;
    const inspectable = first ?? (await this.picked());
    return inspectable !== undefined && (await this.inspect(inspectable));
  }

  /** Really stops the thread that has the focus; a worker of a run is stopped by the debugger of the run. */
  async pauseAtNextLine(): Promise<void> {
    const { activeDebugSession: session, activeStackItem: item } = vscode.debug;
    if (session?.type !== INSPECTION_TYPE) {
      return;
    }
    if (session.configuration["run"] !== "") {
      await this.stopReally(session);
      return;
    }
    if (!this.confirmed.has(session)) {
      const question = vscode.l10n.t("Pause this thread at its next line of Python code?");
      const detail = vscode.l10n.t(
        "Tracing slows down this thread. Other workers may wait for it, and their collectives may time out. Continue or Disconnect ends it.",
      );
      if (!(await isConfirmed(question, detail, vscode.l10n.t("Pause")))) {
        return;
      }
      this.confirmed.add(session);
    }
    const threadId = item?.session === session ? item.threadId : undefined;
    try {
      await session.customRequest(STOP_REQUEST, { threadId });
    } catch (error) {
      throw new EaglerayError(
        "not-paused",
        error instanceof Error ? error.message : String(error),
        vscode.l10n.t("The worker keeps running."),
      );
    }
  }

  private async inspect(inspectable: Inspectable): Promise<boolean> {
    const key = keyOf(inspectable);
    const present = this.open.get(key);
    if (present !== undefined) {
      await this.bring(present, false);
      return true;
    }
    const { target, run } = inspectable;
    const params = { target, workspace_folders: workspaceFolders() };
    const opened = await longWork(vscode.l10n.t("Looking inside"), (options) =>
      this.app.sidecar.request(OPEN, params, options),
    );
    this.factory.allow(opened.socket);
    return await vscode.debug.startDebugging(
      vscode.workspace.workspaceFolders?.[0],
      {
        type: INSPECTION_TYPE,
        request: "attach",
        name: sessionName(opened.name),
        socket: opened.socket,
        inspected: key,
        run,
        worker: target.worker_id,
        // It begins with a stop, which has a line.
        line: 1,
      },
      { suppressSaveBeforeStart: true, suppressDebugStatusbar: true },
    );
  }

  /** A worker that is really stopped is shown by its own session alone. */
  private async endFor(worker: unknown): Promise<void> {
    for (const session of this.open.values()) {
      if (session.configuration["worker"] === worker && worker !== "") {
        await vscode.debug.stopDebugging(session);
      }
    }
  }

  private bring(session: vscode.DebugSession, isNew: boolean): Promise<void> {
    const isOpen = (): boolean => [...this.open.values()].includes(session);
    return bringToFront(session, isOpen, isNew ? PATIENT : AT_ONCE);
  }

  /** The debugger of the run stops the worker as soon as it runs Python code; its own session takes over. */
  private async stopReally(session: vscode.DebugSession): Promise<void> {
    const { run: id, worker: workerId } = session.configuration as Record<string, unknown>;
    const run = this.app.runs.value.runs.find((each) => each.id === id);
    const worker = run?.workers.find(({ worker_id }) => worker_id === workerId);
    if (run !== undefined && worker !== undefined) {
      await vscode.commands.executeCommand(COMMANDS.pauseWorker, { row: "runWorker", run, worker });
    }
  }

  /** A worker of the lists, or a process of this machine by its PID. */
  private async picked(): Promise<Inspectable | undefined> {
    const { clusters } = this.app.clusters.value;
    let choices = choicesOf(this.app.runs.value.runs, []);
    return await pickOrType<Inspectable>({
      title: vscode.l10n.t("Select a worker to look inside"),
      placeholder: vscode.l10n.t("Select, or type the PID of a process of this machine"),
      rows: () => choices.map((choice) => ({ ...choice, value: choice.inspectable })),
      understood: (text) => Promise.resolve(understoodPid(text)),
      load: async () => {
        const lists = await Promise.allSettled(clusters.map(({ id }) => this.liveOf(id)));
        const live = lists.flatMap((list) => (list.status === "fulfilled" ? list.value : []));
        choices = choicesOf(this.app.runs.value.runs, live);
      },
    });
  }

  private async liveOf(cluster: string): Promise<readonly LiveWorker[]> {
    return (await this.app.sidecar.request(ALL, { cluster })).workers;
  }
}

function understoodPid(text: string): PickRow<Inspectable> | undefined {
  const inspectable = ofArgument({ pid: typedPid(text) });
  return inspectable && usedRow(vscode.l10n.t("Use PID {0}", text), "", inspectable);
}

function noProcess(): EaglerayError {
  return new EaglerayError(
    "no-process",
    vscode.l10n.t("This worker has no process that can be inspected."),
    vscode.l10n.t("Select a running worker."),
  );
}
