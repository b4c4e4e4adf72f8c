/** Asks whether a worker continues after the user has ended its session with Stop. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { plain } from "../../common/texts";
import { RELEASE } from "./messages";
import { asksToStop, type Target } from "./model";
import { targetOfSession } from "./sessions";
import { requestAction } from "./worker_actions";

const RESUME = "Let It Run On";
const KEEP_STOPPED = "Keep It Stopped";

/**
 * The adapter handles the other ends: Disconnect resumes the worker, and a closed window holds it.  Stop
 * would end the program elsewhere, but ending one rank of a training run ends the run.  So the worker stays
 * held until the user has answered.
 */
export class StopPrompt implements vscode.DebugAdapterTrackerFactory {
  constructor(private readonly app: App) {}

  createDebugAdapterTracker(session: vscode.DebugSession): vscode.DebugAdapterTracker {
    let stopped = false;
    return {
      onWillReceiveMessage: (message: unknown) => {
        stopped ||= asksToStop(message);
      },
      onWillStopSession: () => {
        const target = targetOfSession(session);
        if (stopped && target) {
          stopped = false;
          void this.ask(session.name, target);
        }
      },
    };
  }

  private async ask(name: string, target: Target): Promise<void> {
    const question = plain(`${name} stays stopped where it is. Let it run on?`);
    const answer = await vscode.window.showInformationMessage(question, RESUME, KEEP_STOPPED);
    if (answer === RESUME) {
      await requestAction(this.app, "releasing", RELEASE, target.cluster, [target.worker]);
    }
  }
}
