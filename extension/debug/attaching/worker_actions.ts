/** Actions on workers: attaching to one in this window, and requests for several. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { plain } from "../../common/texts";
import type { RequestMethod } from "../../common/wire";
import { DEBUG_TYPE } from "../../contributions";
import type { Outcome, Workers } from "./messages";
import { failureLine, failureSentence, targetKey, UNLESS_TAKEN, type Target } from "./model";
import type { DebugSessions } from "./sessions";

/** Starts the debug session of a worker.  One attach per worker at a time: a double click is one. */
export class Attacher {
  private readonly pending = new Map<string, Promise<boolean>>();

  constructor(
    private readonly app: App,
    private readonly sessions: DebugSessions,
  ) {}

  /** Resolves to whether there is a session; a failure has been shown.  The one that is open is shown again. */
  async attach(target: Target): Promise<boolean> {
    return (await this.sessions.show(target)) || (await this.once(target, {}));
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
          { type: DEBUG_TYPE, request: "attach", name: vscode.l10n.t("Ray worker"), ...named },
          // The worker runs the code that it was started with: saving files would change nothing.
          { suppressSaveBeforeStart: true },
        ),
      ),
    );
    return started ?? false;
  }
}

/** Sends one request for workers of one cluster; failures are logged one by one and shown as one sentence. */
export async function requestAction(
  app: App,
  doing: string,
  method: RequestMethod<Workers, Outcome>,
  cluster: string,
  workers: readonly string[],
): Promise<Outcome | undefined> {
  const outcome = await app.errors.shown(doing, () =>
    app.sidecar.request(method, { cluster, worker_ids: workers }),
  );
  if (outcome) {
    showOutcome(app, doing, outcome);
  }
  return outcome;
}

function showOutcome(app: App, doing: string, outcome: Outcome): void {
  for (const failure of outcome.failures) {
    app.log.warn(`${doing} ${failureLine(failure)}`);
  }
  const sentence = failureSentence(outcome);
  if (sentence !== undefined) {
    void showWithLogs(app, sentence);
  }
}

async function showWithLogs(app: App, sentence: string): Promise<void> {
  const answer = await vscode.window.showWarningMessage(
    plain(sentence, 600),
    vscode.l10n.t("Show Log"),
  );
  if (answer !== undefined) {
    app.log.show();
  }
}
