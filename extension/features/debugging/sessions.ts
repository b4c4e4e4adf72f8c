/** The debug sessions of this window, by the worker that each looks at. */

import * as vscode from "vscode";

import { DEBUG_TYPE } from "../../contributions";
import { ALONE, BESIDE_OTHERS, bringToFront } from "./focus";
import { targetKey, type Target } from "./model";

/** Follows the editor's events; owned by the feature. */
export class Sessions implements vscode.Disposable {
  private readonly open = new Map<string, Target>();
  private readonly attached = new Set<string>();
  private readonly subscriptions: vscode.Disposable[];
  private latest: Target | undefined;

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

  /** Keys of all workers that this window was ever attached to. */
  get seen(): ReadonlySet<string> {
    return this.attached;
  }

  dispose(): void {
    this.open.clear();
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private started(session: vscode.DebugSession): void {
    const target = targetOfSession(session);
    if (target) {
      this.open.set(session.id, target);
      this.attached.add(targetKey(target));
      this.latest = target;
      const patience = this.open.size > 1 ? BESIDE_OTHERS : ALONE;
      void bringToFront(session, () => this.open.has(session.id), patience);
    }
  }
}

/** The worker of a session of ours; undefined for one of another debugger. */
export function targetOfSession(session: vscode.DebugSession): Target | undefined {
  const { cluster, worker } = session.configuration as Record<string, unknown>;
  return session.type === DEBUG_TYPE && typeof cluster === "string" && typeof worker === "string"
    ? { cluster, worker }
    : undefined;
}
