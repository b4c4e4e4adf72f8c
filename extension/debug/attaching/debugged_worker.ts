/** The worker whose session the editor shows, for the status bar and the marks at stopped lines. */

import * as vscode from "vscode";

import type { Disposable } from "../../common/disposables";
import { Store, type Readable } from "../../common/store";
import { INSPECTION_TYPE } from "../../contributions";
import type { DebuggedWorker } from "./model";
import { targetOfSession } from "./sessions";

/** Follows the session in front, also one that looks inside; undefined without one, and for one of another debugger. */
export class DebuggedWorkerInFront implements Disposable {
  private readonly store = new Store<DebuggedWorker | undefined>(undefined);
  private readonly listening: readonly Disposable[];

  constructor() {
    const update = (): void => {
      this.update();
    };
    this.listening = [
      vscode.debug.onDidChangeActiveDebugSession(update),
      vscode.debug.onDidTerminateDebugSession(update),
    ];
  }

  get worker(): Readable<DebuggedWorker | undefined> {
    return this.store;
  }

  dispose(): void {
    for (const listener of this.listening) {
      listener.dispose();
    }
  }

  private update(): void {
    const session = vscode.debug.activeDebugSession;
    const target = session && targetOfSession(session);
    if (session?.type === INSPECTION_TYPE) {
      this.store.set({ cluster: "", worker: "", name: session.name, isInspected: true });
    } else {
      this.store.set(target && { ...target, name: session.name });
    }
  }
}
