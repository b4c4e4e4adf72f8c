/** Stop in the toolbar of the debugger: asks whether a worker continues, and ends a run of an agent. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { plain } from "../../common/texts";
import { COMMANDS } from "../../contributions";
import { RELEASE } from "./messages";
import { asksToStop, type Target } from "./model";
import { agentRunOf } from "./restarted_agents";
import { targetOfSession } from "./sessions";
import { requestAction } from "./worker_actions";

const RESUME = vscode.l10n.t("Resume");
const KEEP_PAUSED = vscode.l10n.t("Keep Paused");

/**
 * Asks whether a worker continues after the user has ended its session with Stop, and ends the run of an agent.
 *
 * The adapter handles the other ends: Disconnect resumes the worker, and a closed window holds it.  Stop
 * would end the program elsewhere, but ending one rank of a training run ends the run.  So the worker stays
 * held until the user has answered.  A run of an agent is one program that was started for this session: it just ends.
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
          const run = agentRunOf(this.app, session);
          if (run === undefined) {
            void this.ask(session.name, target);
          } else {
            void vscode.commands.executeCommand(COMMANDS.stopRun, { row: "run", run });
          }
        }
      },
    };
  }

  private async ask(name: string, target: Target): Promise<void> {
    const question = plain(vscode.l10n.t("{0} is still paused. Resume it?", name));
    const answer = await vscode.window.showInformationMessage(question, RESUME, KEEP_PAUSED);
    if (answer === RESUME) {
      await requestAction(this.app, "releasing", RELEASE, target.cluster, [target.worker]);
    }
  }
}
