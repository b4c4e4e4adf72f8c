/** Asks what is to become of a run before its command is started once more. */

import * as vscode from "vscode";

import { lines } from "../../common/row_texts";
import { plain } from "../../common/texts";
import { isConfirmed } from "../../confirming";
import type { Run } from "./messages";
import { isLive } from "./model";

const STOP_FIRST = "Stop It First";
const START_BESIDE = "Start Beside It";

/**
 * 1. Nothing, once it is over.
 * 2. One that nobody keeps any more may go on: the person says whether it is stopped or started beside.
 * 3. One that goes on is stopped, after a yes where stopping asks for one.
 *
 * Undefined: it is not to be started after all.
 */
export async function whatBefore(run: Run): Promise<"stop" | "nothing" | undefined> {
  if (!isLive(run)) {
    return "nothing";
  }
  if (run.state === "unwatched") {
    const options = { modal: true, detail: lines(run.note, run.confirm_stop) };
    const question = `${plain(run.name)} may still go on. Stop it before it is started again?`;
    const buttons = [STOP_FIRST, START_BESIDE] as const;
    const said = await vscode.window.showWarningMessage(question, options, ...buttons);
    return said && (said === STOP_FIRST ? "stop" : "nothing");
  }
  const isAsked = run.confirm_stop !== "";
  return !isAsked || (await isConfirmed("Restart", run.confirm_stop, "Restart"))
    ? "stop"
    : undefined;
}
