/** The commands of the view Runs; read when the first of them is called. */

import { basename } from "node:path";

import * as vscode from "vscode";

import type { App } from "../app";
import { withEach } from "../common/errors";
import { dotted, plain } from "../common/texts";
import { isConfirmed } from "../dialogs";
import type { Row } from "../rows";
import { draftOf, emptyDraft, NO_PRESET, noProgram } from "./draft";
import { selectProgramPython } from "./interpreters";
import { lastOptions } from "./last_options";
import { COMMAND, FORGET, PAUSE, STOP, type Run, type RunWorkerStatus } from "./messages";
import type { RunOutput } from "./output";
import type { OutputDocuments } from "./output_documents";
import { workerName } from "./worker_names";
import { isOfThisWindow } from "./run_list";
import type { RunStarter } from "./run_starter";
import type { RunStops } from "./run_stops";
import { isLive } from "./states";

/** How long the status bar says with which options a run starts. */
const SHOWN_MS = 6000;

export class RunCommands {
  constructor(
    private readonly app: App,
    private readonly stops: RunStops,
    private readonly output: {
      readonly terminals: RunOutput;
      readonly documents: OutputDocuments;
    },
    private readonly starting: RunStarter,
  ) {}

  async run(args: readonly unknown[]): Promise<string | undefined> {
    const draft = draftOf(args);
    if (draft === undefined) {
      throw noProgram();
    }
    const last = lastOptions(this.app, draft.path);
    if (last === undefined) {
      return await this.starting.run(draft);
    }
    const name = plain(basename(draft.path));
    const text =
      last.preset === NO_PRESET
        ? vscode.l10n.t("Starting {0} with its last options", name)
        : vscode.l10n.t("Starting a short test run of {0}, as in its last options", name);
    vscode.window.setStatusBarMessage(text, SHOWN_MS);
    // A recorded run would stop nowhere.
    return await this.starting.run({ ...last, profile: null }, draft.path);
  }

  /** For the program of the editor, else for the workspace. */
  async selectInterpreter(args: readonly unknown[]): Promise<string | undefined> {
    return await selectProgramPython(this.app, draftOf(args) ?? emptyDraft());
  }

  /** Restarts the last run of this window; without one, runs the program in the editor. */
  async runAgain(args: readonly unknown[]): Promise<string | undefined> {
    const runs = await this.app.latestRuns();
    // Programs use a server, which must stay up.
    const last = runs.find((run) => isOfThisWindow(run) && run.can_restart && run.server === null);
    return last === undefined ? await this.run(args) : await this.starting.restart(last);
  }

  /** The id of the run that was started last. */
  async restart(rows: readonly Row[]): Promise<string | undefined> {
    const runs = await this.allOf(rows, canRestart, vscode.l10n.t("Restart which run?"));
    let last: string | undefined;
    await withEach(runs, nameOf, async (run) => {
      last = (await this.starting.restart(run)) ?? last;
    });
    return last;
  }

  /** One confirmation for all runs that need one. */
  async stop(rows: readonly Row[]): Promise<void> {
    const runs = await this.allOf(rows, isLive, vscode.l10n.t("Stop which run?"));
    const asking = runs.map((run) => run.confirm_stop).filter((text) => text !== "");
    const title = vscode.l10n.t("Stop {0}?", runNames(runs));
    if (
      asking.length === 0 ||
      (await isConfirmed(title, asking.join("\n"), vscode.l10n.t("Stop")))
    ) {
      await withEach(runs, nameOf, ({ id, confirm_stop }) =>
        this.app.sidecar.request(STOP, { id, confirmed: confirm_stop !== "" }),
      );
    }
  }

  async showOutput(rows: readonly Row[]): Promise<void> {
    const runs = await this.allOf(rows, () => true, vscode.l10n.t("Show the output of which run?"));
    await withEach(runs, nameOf, ({ id }) => this.output.terminals.show(id, false));
  }

  async openOutput(rows: readonly Row[]): Promise<void> {
    const runs = await this.allOf(rows, () => true, vscode.l10n.t("Open the output of which run?"));
    // A preview tab is replaced by the next one.
    await withEach(runs, nameOf, (run) => this.output.documents.show(run, runs.length === 1));
  }

  async copy(rows: readonly Row[]): Promise<void> {
    const runs = await this.allOf(
      rows,
      () => true,
      vscode.l10n.t("Copy the command of which run?"),
    );
    if (runs.length > 0) {
      const exact = await Promise.all(
        runs.map(({ id }) => this.app.sidecar.request(COMMAND, { id })),
      );
      await vscode.env.clipboard.writeText(exact.map(({ text }) => text).join("\n"));
    }
  }

  /** Only on the row of a run itself: its worker or report may be meant. */
  async remove(rows: readonly Row[]): Promise<void> {
    const ofRuns = rows.filter((row) => "run" in row);
    if (ofRuns.length > 0 && !ofRuns.some(({ row }) => row === "run")) {
      void vscode.window.showInformationMessage(vscode.l10n.t("Select a run to remove it."));
      return;
    }
    const title = vscode.l10n.t("Remove which run from the list?");
    const runs = rows.filter(({ row }) => row === "run");
    await this.removeAll(await this.allOf(runs, isEnded, title));
  }

  async clearEnded(): Promise<void> {
    const ended = (await this.app.latestRuns()).filter(isEnded);
    if (ended.length === 0) {
      void vscode.window.showInformationMessage(vscode.l10n.t("No run has ended yet."));
    }
    await this.removeAll(ended);
  }

  /** Several at once need a confirmation that names them. */
  private async removeAll(runs: readonly Run[]): Promise<void> {
    const names = runs.map((run) => plain(`${run.name} ${run.arguments}`)).join("\n");
    const question = vscode.l10n.t("Remove {0} runs and their output?", runs.length);
    if (runs.length < 2 || (await isConfirmed(question, names, vscode.l10n.t("Remove")))) {
      await withEach(runs, nameOf, async ({ id }) => {
        await this.app.sidecar.request(FORGET, { id });
        this.output.terminals.close(id);
      });
    }
  }

  async showLine(rows: readonly Row[]): Promise<void> {
    const [row] = rows;
    if (row?.row === "runLine") {
      const { path, line, moved_to, state } = row.line;
      const at = (state === "moved" ? moved_to : line) - 1;
      const selection = new vscode.Range(at, 0, at, 0);
      await vscode.window.showTextDocument(vscode.Uri.file(path), { selection, preview: true });
    }
  }

  async pause(rows: readonly Row[]): Promise<void> {
    const given = rows.flatMap((row) => (row.row === "runWorker" ? [row] : []));
    const workers = given.length > 0 ? given : await pickWorker(await this.app.latestRuns());
    await withEach(
      workers,
      ({ worker }) => workerName(worker),
      ({ run, worker: { worker_id } }) =>
        this.stops.bringOnPause({ cluster: run.cluster, worker: worker_id }, () =>
          this.app.sidecar.request(PAUSE, { run: run.id, worker_id }),
        ),
    );
  }

  /**
   * The run of the row that was clicked or is selected, as it is now; of several those that fit.  Without a row the
   * only run that fits, or the one that the user picks.
   */
  private async allOf(
    rows: readonly Row[],
    fits: (run: Run) => boolean,
    title: string,
  ): Promise<readonly Run[]> {
    const ids = new Set(rows.map((row) => ("run" in row ? row.run.id : undefined)));
    const named = this.app.runs.value.runs.filter((run) => ids.has(run.id));
    if (named.length === 1) {
      return named;
    }
    const fitting = (named.length > 0 ? named : await this.app.latestRuns()).filter(fits);
    if (fitting.length === 0) {
      void vscode.window.showInformationMessage(noRunSentence(fits));
    }
    if (fitting.length < 2 || named.length > 0) {
      return fitting;
    }
    const items = fitting.map((run) => ({
      label: plain(run.name),
      description: plain(run.command),
      run,
    }));
    const options = { title, matchOnDescription: true };
    const picked = await vscode.window.showQuickPick(items, options);
    return picked === undefined ? [] : [picked.run];
  }
}

function nameOf({ name }: Run): string {
  return name;
}

function canRestart({ can_restart }: Run): boolean {
  return can_restart;
}

function isEnded(run: Run): boolean {
  return !isLive(run);
}

/** Why a command has no run: `fits` is what it needs. */
function noRunSentence(fits: (run: Run) => boolean): string {
  switch (fits) {
    case isLive:
      return vscode.l10n.t("No run is running.");
    case canRestart:
      return vscode.l10n.t("No run can be restarted.");
    case isEnded:
      return vscode.l10n.t("No run has ended yet.");
    default:
      return vscode.l10n.t("You have no runs yet. Start one with “Debug on Ray”.");
  }
}

/** The name of the only run, else their number. */
function runNames(runs: readonly Run[]): string {
  const [first] = runs;
  return first !== undefined && runs.length === 1
    ? first.name
    : vscode.l10n.t("{0} runs", runs.length);
}

async function pickWorker(
  runs: readonly Run[],
): Promise<readonly { readonly run: Run; readonly worker: RunWorkerStatus }[]> {
  const items = runs
    .filter(isLive)
    .flatMap((run) => run.workers.map((worker) => ({ run, worker })))
    .filter(({ worker }) => worker.state === "running")
    .map(({ run, worker }) => ({
      label: workerName(worker),
      description: dotted(plain(run.name), vscode.l10n.t("PID {0}", worker.pid)),
      run,
      worker,
    }));
  if (items.length === 0) {
    void vscode.window.showInformationMessage(vscode.l10n.t("No worker of a run is running."));
    return [];
  }
  const picked = await vscode.window.showQuickPick(items, {
    title: vscode.l10n.t("Pause which worker?"),
  });
  return picked === undefined ? [] : [picked];
}
