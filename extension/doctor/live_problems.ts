/**
 * Shows the first problem of each live run of this window: in the list of problems, the status bar, and one message if
 * the run survives it.  A run that ends has the message of its end alone.
 *
 * An error that no rule explains gives way to a cause that comes later.
 */

import * as vscode from "vscode";

import type { App } from "../app";
import { Disposables } from "../common/disposables";
import { asEaglerayError, isCancellation } from "../common/errors";
import { COMMANDS } from "../contributions";
import { ruleFolders } from "../workspace";
import type { Run } from "../runs/messages";
import { isOfThisWindow } from "../runs/run_list";
import { isLive } from "../runs/states";
import { FIRST_PROBLEM, type Cause } from "./messages";
import type { ProblemLists } from "./problem_list";
import { announce, ProblemSigns, type ShownProblem } from "./problem_signs";

/** A run that still lives so long after a problem has survived it. */
const SURVIVED_MS = 10_000;
/** The ID of an error that no rule explains. */
const UNKNOWN = "unknown-error";

interface LiveProblem {
  readonly run: Run;
  readonly cause: Cause;
}

export class LiveProblems implements vscode.Disposable {
  private readonly owned = new Disposables();
  private readonly following = new Map<string, vscode.CancellationTokenSource>();
  /** The problems of listed runs, the newest last; undefined for runs that ended without one. */
  private readonly first = new Map<string, LiveProblem | undefined>();
  private readonly signs: ProblemSigns;
  private readonly timers = new Set<NodeJS.Timeout>();

  /** Runs from before `opened_s` have had their message in an earlier window. */
  constructor(
    private readonly app: App,
    lists: ProblemLists,
    private readonly opened_s: number,
  ) {
    const name = vscode.l10n.t("Eagleray: Problem of a Run");
    this.signs = this.owned.add(new ProblemSigns(lists, "eagleray.problem", name));
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
    this.timers.forEach(clearTimeout);
    this.owned.dispose();
  }

  private async follow(run: Run): Promise<void> {
    const cancel = new vscode.CancellationTokenSource();
    this.first.set(run.id, undefined);
    this.following.set(run.id, cancel);
    try {
      if ((await this.showNext(run, [], cancel.token)) === UNKNOWN) {
        await this.showNext(run, [UNKNOWN], cancel.token);
      }
    } catch (error) {
      if (!isCancellation(error)) {
        // The next list of runs follows it again, as after a restart of the sidecar, unless it has had its message.
        if (this.first.get(run.id) === undefined) {
          this.first.delete(run.id);
        }
        this.app.log.warn(`the output of run ${run.id}: ${asEaglerayError(error).code}`);
      }
    } finally {
      this.following.delete(run.id);
      cancel.dispose();
    }
  }

  /** The ID of the problem that was found; undefined for none until the end of the run. */
  private async showNext(
    run: Run,
    reported: string[],
    cancel: vscode.CancellationToken,
  ): Promise<string | undefined> {
    const { cause } = await this.app.sidecar.request(
      FIRST_PROBLEM,
      { id: run.id, reported, ...ruleFolders() },
      { cancel },
    );
    if (cause === null || !this.first.has(run.id)) {
      return undefined;
    }
    this.first.set(run.id, { run, cause });
    this.show(this.app.runs.value.runs);
    if (run.started >= this.opened_s) {
      const timer = setTimeout(() => {
        this.timers.delete(timer);
        this.announceSurvived({ run, cause });
      }, SURVIVED_MS);
      this.timers.add(timer);
    }
    return cause.id;
  }

  /** Nothing of a run that has ended or is about to, and of an error that gave way to its cause. */
  private announceSurvived(problem: LiveProblem): void {
    const { id } = problem.run;
    const run = this.app.runs.value.runs.find((listed) => listed.id === id);
    const isCurrent = this.first.get(id)?.cause === problem.cause;
    if (run !== undefined && isLive(run) && run.state !== "stopping" && isCurrent) {
      // The message stays until it is closed: the run is followed meanwhile.
      void announce(shownOf(problem), vscode.l10n.t("Show Output"), () =>
        vscode.commands.executeCommand(COMMANDS.showOutput, rowOf(run)),
      );
    }
  }

  /** The status bar has the newest problem of a run that lives: one that ends has a message of its own. */
  private show(runs: readonly Run[]): void {
    const listed = [...this.first.values()].filter((each) => each !== undefined);
    this.signs.list(listed.map(shownOf));
    const live = new Set(runs.filter(isLive).map(({ id }) => id));
    const newest = listed.findLast(({ run }) => live.has(run.id));
    if (newest === undefined) {
      this.signs.hide();
    } else {
      this.signs.showProblem(shownOf(newest));
    }
  }
}

function shownOf({ run, cause }: LiveProblem): ShownProblem {
  return { name: run.name, diagnosed: rowOf(run), cause };
}

function rowOf(run: Run): object {
  return { row: "run", run };
}
