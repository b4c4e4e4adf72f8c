/** Asks what is to become of a worker whose session the person ended by Stop. */

import * as vscode from "vscode";

import { plain } from "../../common/texts";
import type { Parts } from "../../parts";
import { RELEASE } from "./messages";
import { asksToStop, type Target } from "./model";
import { actOn } from "./outcomes";
import { targetOfSession } from "./sessions";

const RUN_ON = "Let It Run On";
const KEEP = "Keep It Stopped";

/**
 * Disconnect lets the worker run on and a closed window holds it; both are the adapter's business.  Stop
 * would end a program elsewhere, but ending one rank of a training run ends the run: so the worker stays
 * held until the person has said what they meant.
 */
export class Leaving implements vscode.DebugAdapterTrackerFactory {
  constructor(private readonly parts: Parts) {}

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
    const answer = await vscode.window.showInformationMessage(question, RUN_ON, KEEP);
    if (answer === RUN_ON) {
      await actOn(this.parts, "releasing", RELEASE, target.cluster, [target.worker]);
    }
  }
}
