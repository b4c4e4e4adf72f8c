/** Actions on several workers, and the message about those that failed. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { plain } from "../../common/texts";
import type { RequestMethod } from "../../common/wire";
import type { Outcome, Workers } from "./messages";
import { failureLine, failureSentence } from "./model";

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
  const answer = await vscode.window.showWarningMessage(plain(sentence, 600), "Show Logs");
  if (answer !== undefined) {
    app.log.show();
  }
}
