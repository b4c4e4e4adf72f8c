/** Starts the editor's debug session for a worker. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { DEBUG_TYPE } from "../../contributions";
import { targetKey, UNLESS_TAKEN, type Target } from "./model";

/** One attach per worker at a time: a double click is one. */
export class Attacher {
  private readonly pending = new Map<string, Promise<boolean>>();

  constructor(private readonly app: App) {}

  /** Whether the session began; a failure has been shown. */
  attach(target: Target): Promise<boolean> {
    return this.once(target, {});
  }

  /** For automatic attaching: a worker that another window attached to before is silently left alone. */
  attachUnlessTaken(target: Target): Promise<boolean> {
    return this.once(target, { [UNLESS_TAKEN]: true });
  }

  private once(target: Target, more: object): Promise<boolean> {
    const key = targetKey(target);
    const present = this.pending.get(key);
    if (present) {
      return present;
    }
    const started = this.start({ ...target, ...more }).finally(() => this.pending.delete(key));
    this.pending.set(key, started);
    return started;
  }

  private async start(named: object): Promise<boolean> {
    const started = await this.app.errors.shown("starting a debug session", () =>
      Promise.resolve(
        vscode.debug.startDebugging(
          vscode.workspace.workspaceFolders?.[0],
          { type: DEBUG_TYPE, request: "attach", name: "Ray worker", ...named },
          // The worker runs the code that it was started with: saving files would change nothing.
          { suppressSaveBeforeStart: true },
        ),
      ),
    );
    return started ?? false;
  }
}
