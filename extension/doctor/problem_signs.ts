/** Shows problems of watched runs and clusters: in the list of problems, the status bar, and messages. */

import * as vscode from "vscode";

import { Disposables } from "../common/disposables";
import { plain } from "../common/texts";
import { COMMANDS } from "../contributions";
import { problemsOfCauses } from "./log_problems";
import type { Cause } from "./messages";
import type { ProblemList, ProblemLists } from "./problem_list";

/** A problem of what has that name; `diagnosed` is the argument of “Diagnose”. */
export interface ShownProblem {
  readonly name: string;
  readonly diagnosed: object;
  readonly cause: Cause;
}

export class ProblemSigns implements vscode.Disposable {
  private readonly owned = new Disposables();
  private readonly problems: ProblemList;
  private readonly item: vscode.StatusBarItem;

  /** The ID and the name of the place in the status bar. */
  constructor(lists: ProblemLists, id: string, name: string) {
    this.problems = this.owned.add(lists.added());
    this.item = this.owned.add(
      vscode.window.createStatusBarItem(id, vscode.StatusBarAlignment.Left, 9),
    );
    this.item.name = name;
  }

  /** The lines of all problems in the list of problems. */
  list(shown: readonly ShownProblem[]): void {
    this.problems.show(problemsOfCauses(shown.map(({ cause }) => cause)));
  }

  hide(): void {
    this.item.hide();
  }

  showProblem(problem: ShownProblem): void {
    const background = new vscode.ThemeColor("statusBarItem.warningBackground");
    this.draw(`$(pulse) ${plain(problem.name, 40)}`, sentenceOf(problem), background);
    this.setDiagnosed(problem.diagnosed);
  }

  /** No problem so far. */
  showFollowed(name: string, sentence: string, diagnosed: object): void {
    this.draw(`$(eye) ${plain(name, 40)}`, sentence, undefined);
    this.setDiagnosed(diagnosed);
  }

  dispose(): void {
    this.owned.dispose();
  }

  private draw(text: string, tooltip: string, background: vscode.ThemeColor | undefined): void {
    this.item.text = text;
    this.item.tooltip = plain(tooltip, 400);
    this.item.accessibilityInformation = { label: this.item.tooltip, role: "button" };
    this.item.backgroundColor = background;
    this.item.show();
  }

  private setDiagnosed(diagnosed: object): void {
    this.item.command = {
      title: vscode.l10n.t("Diagnose"),
      command: COMMANDS.diagnose,
      arguments: [diagnosed],
    };
  }
}

/** One message; `further` is the title of another button, and `run` what it does. */
export async function announce(
  problem: ShownProblem,
  further: string,
  run: () => unknown,
): Promise<void> {
  const diagnose = vscode.l10n.t("Diagnose");
  const sentence = sentenceOf(problem);
  const answer = await vscode.window.showWarningMessage(sentence, diagnose, further);
  if (answer === diagnose) {
    await vscode.commands.executeCommand(COMMANDS.diagnose, problem.diagnosed);
  } else if (answer === further) {
    await run();
  }
}

/** "train.py: A GPU ran out of memory: 2.00 GiB needed." */
function sentenceOf({ name, cause }: ShownProblem): string {
  return vscode.l10n.t("{0}: {1}", plain(name), plain(cause.sentence, 300));
}
