/** One message for each picture that was saved because a run of this window printed nothing. */

import * as vscode from "vscode";

import { plain } from "../common/texts";
import { COMMANDS } from "../contributions";
import type { Run } from "./messages";
import { isOfThisWindow } from "./run_list";

export class StuckMessages {
  private readonly announced = new Set<string>();

  /** `started` holds the ids of runs that this window has started; pictures before `since_s` are old. */
  constructor(
    private readonly started: ReadonlySet<string>,
    private readonly since_s: number,
  ) {}

  update(runs: readonly Run[]): void {
    for (const run of runs) {
      const { picture } = run;
      const isOurs = isOfThisWindow(run) || this.started.has(run.id);
      const isNew = picture?.is_stuck === true && picture.taken_at >= this.since_s;
      if (isOurs && isNew && !this.announced.has(picture.path)) {
        this.announced.add(picture.path);
        void show(run);
      }
    }
  }
}

/** "train.py prints nothing: Rank 2 does not move." */
export function stuckSentence(run: Run): string {
  return vscode.l10n.t(
    "{0} prints nothing: {1}",
    plain(run.name),
    plain(run.picture?.sentence ?? "", 300),
  );
}

async function show(run: Run): Promise<void> {
  const open = vscode.l10n.t("Open Picture");
  const output = vscode.l10n.t("Show Output");
  const answer = await vscode.window.showWarningMessage(stuckSentence(run), open, output);
  const row = { row: "run", run };
  if (answer === open) {
    await vscode.commands.executeCommand(COMMANDS.openPicture, row);
  } else if (answer === output) {
    await vscode.commands.executeCommand(COMMANDS.showOutput, row);
  }
}
