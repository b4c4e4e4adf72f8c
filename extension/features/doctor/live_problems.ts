/** Shows the first problem of each live run of this window: in the list of problems, the status bar and one message. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { Disposables } from "../../common/disposables";
import { asEaglerayError, isCancellation } from "../../common/errors";
import { plain } from "../../common/texts";
import { COMMANDS } from "../../contributions";
import type { Run } from "../runs/messages";
import { isOfThisWindow } from "../runs/run_list";
import { isLive } from "../runs/states";
import { problemsOfCauses } from "./log_problems";
import { FIRST_PROBLEM, type Cause } from "./messages";

interface LiveProblem {
  readonly run: Run;
  readonly cause: Cause;
}

export class LiveProblems implements vscode.Disposable {
  private readonly owned = new Disposables();
  private readonly following = new Map<string, vscode.CancellationTokenSource>();
  /** The problems of listed runs, the newest last; undefined for runs that ended without one. */
  private readonly first = new Map<string, LiveProblem | undefined>();
  private readonly problems = this.owned.add(
    vscode.languages.createDiagnosticCollection("eagleray"),
  );
  private readonly item = this.owned.add(
    vscode.window.createStatusBarItem("eagleray.problem", vscode.StatusBarAlignment.Left, 9),
  );

  /** Runs from before `opened_s` have had their message in an earlier window. */
  constructor(
    private readonly app: App,
    private readonly opened_s: number,
  ) {
    this.item.name = vscode.l10n.t("Eagleray: Problem of a Run");
    this.item.backgroundColor = new vscode.ThemeColor("statusBarItem.warningBackground");
  }

  update(runs: readonly Run[]): void {
    for (const id of [...this.first.keys()]) {
      if (!runs.some((run) => run.id === id)) {
        this.first.delete(id);
        this.following.get(id)?.cancel();
      }
    }
    for (const run of runs) {
      if (isLive(run) && isOfThisWindow(run) && !this.first.has(run.id)) {
        void this.follow(run);
      }
    }
    this.show(runs);
  }

  dispose(): void {
    for (const cancel of this.following.values()) {
      cancel.cancel();
    }
    this.owned.dispose();
  }

  private async follow(run: Run): Promise<void> {
    const cancel = new vscode.CancellationTokenSource();
    this.first.set(run.id, undefined);
    this.following.set(run.id, cancel);
    try {
      const options = { cancel: cancel.token };
      const { cause } = await this.app.sidecar.request(FIRST_PROBLEM, { id: run.id }, options);
      if (cause !== null && this.first.has(run.id)) {
        this.first.set(run.id, { run, cause });
        this.show(this.app.runs.value.runs);
        if (run.started >= this.opened_s) {
          await announce(run, cause);
        }
      }
    } catch (error) {
      if (!isCancellation(error)) {
        // The next list of runs follows it again, as after a restart of the sidecar.
        this.first.delete(run.id);
        this.app.log.warn(`the output of run ${run.id}: ${asEaglerayError(error).code}`);
      }
    } finally {
      this.following.delete(run.id);
      cancel.dispose();
    }
  }

  /** The status bar has the newest problem of a run that lives: one that ends has a message of its own. */
  private show(runs: readonly Run[]): void {
    const listed = [...this.first.values()].filter((each) => each !== undefined);
    this.problems.clear();
    for (const [path, problems] of problemsOfCauses(listed.map(({ cause }) => cause))) {
      this.problems.set(vscode.Uri.file(path), problems);
    }
    const live = new Set(runs.filter(isLive).map(({ id }) => id));
    const newest = listed.findLast(({ run }) => live.has(run.id));
    if (newest === undefined) {
      this.item.hide();
      return;
    }
    const { run, cause } = newest;
    this.item.text = `$(pulse) ${plain(run.name, 40)}`;
    this.item.tooltip = plain(problemSentence(run, cause), 400);
    this.item.accessibilityInformation = { label: this.item.tooltip, role: "button" };
    const row = { row: "run", run };
    this.item.command = {
      title: vscode.l10n.t("Diagnose"),
      command: COMMANDS.diagnose,
      arguments: [row],
    };
    this.item.show();
  }
}

/** "train.py: A GPU has no 2.00 GiB of memory left." */
function problemSentence(run: Run, cause: Cause): string {
  return vscode.l10n.t("{0}: {1}", plain(run.name), plain(cause.sentence, 300));
}

async function announce(run: Run, cause: Cause): Promise<void> {
  const diagnose = vscode.l10n.t("Diagnose");
  const output = vscode.l10n.t("Show Output");
  const sentence = problemSentence(run, cause);
  const answer = await vscode.window.showWarningMessage(sentence, diagnose, output);
  const row = { row: "run", run };
  if (answer === diagnose) {
    await vscode.commands.executeCommand(COMMANDS.diagnose, row);
  } else if (answer === output) {
    await vscode.commands.executeCommand(COMMANDS.showOutput, row);
  }
}
