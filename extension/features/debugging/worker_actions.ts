/** Actions on several workers, and the message about those that failed. */

import * as vscode from "vscode";

import { plain } from "../../common/texts";
import type { RequestMethod } from "../../common/wire";
import type { Parts } from "../../parts";
import type { Outcome, Workers } from "./messages";
import { failureLine, failureSentence } from "./model";

/** Sends one request for workers of one cluster; failures are logged one by one and shown as one sentence. */
export async function requestAction(
  parts: Parts,
  doing: string,
  method: RequestMethod<Workers, Outcome>,
  cluster: string,
  workers: readonly string[],
): Promise<Outcome | undefined> {
  const outcome = await parts.errors.shown(doing, () =>
    parts.sidecar.request(method, { cluster, worker_ids: workers }),
  );
  if (outcome) {
    showOutcome(parts, doing, outcome);
  }
  return outcome;
}

function showOutcome(parts: Parts, doing: string, outcome: Outcome): void {
  for (const failure of outcome.failures) {
    parts.log.warn(`${doing} ${failureLine(failure)}`);
  }
  const sentence = failureSentence(outcome);
  if (sentence !== undefined) {
    void showWithLogs(parts, sentence);
  }
}

async function showWithLogs(parts: Parts, sentence: string): Promise<void> {
  const answer = await vscode.window.showWarningMessage(plain(sentence, 600), "Show Logs");
  if (answer !== undefined) {
    parts.log.show();
  }
}
