/** One message for each run of this window that fails: why, and what to do next. */

import * as vscode from "vscode";

import type { App } from "../app";
import { plain } from "../common/texts";
import { COMMANDS } from "../contributions";
import type { Run } from "./messages";
import { optionsOfRun } from "./last_options";
import { failureReason } from "./rows";
import { isOfThisWindow } from "./run_list";
import { runStateText } from "./state_texts";

export class FailureMessages {
  private readonly announced = new Set<string>();

  /** `started` holds the ids of runs that this window has started; failures before `since_s` are old. */
  constructor(
    private readonly app: App,
    private readonly started: ReadonlySet<string>,
    private readonly since_s: number,
  ) {}

  update(runs: readonly Run[]): void {
    for (const run of runs) {
      const isOurs = isOfThisWindow(run) || this.started.has(run.id);
      const isNew = run.ended >= this.since_s && !this.announced.has(run.id);
      if (run.state === "failed" && isOurs && isNew) {
        this.announced.add(run.id);
        void show(run, optionsOfRun(this.app, run.id) !== undefined);
      }
    }
  }
}

/** "train.py failed (exit 1): ModuleNotFoundError: No module named 'ray'" */
export function failureSentence(run: Run): string {
  const reason = failureReason(run);
  const name = plain(run.name);
  const state = runStateText(run);
  return reason === ""
    ? vscode.l10n.t("{0} {1}.", name, state)
    : vscode.l10n.t("{0} {1}: {2}", name, state, plain(reason, 300));
}

/** A run whose options are not known is started again as it was. */
async function show(run: Run, isEditable: boolean): Promise<void> {
  const output = vscode.l10n.t("Show Output");
  const rerun = isEditable ? vscode.l10n.t("Edit and Rerun…") : vscode.l10n.t("Rerun");
  const diagnose = vscode.l10n.t("Diagnose");
  const buttons = [output, diagnose, rerun];
  const answer = await vscode.window.showErrorMessage(failureSentence(run), ...buttons);
  const row = { row: "run", run };
  if (answer === output) {
    await vscode.commands.executeCommand(COMMANDS.showOutput, row);
  } else if (answer === diagnose) {
    await vscode.commands.executeCommand(COMMANDS.diagnose, row);
  } else if (answer === rerun) {
    const command = isEditable ? COMMANDS.editAndRerun : COMMANDS.restartRun;
    await vscode.commands.executeCommand(command, row);
  }
}
