/** The commands of the view Runs, and of starting. */

import * as vscode from "vscode";

import type { Disposable } from "../../common/disposables";
import type { Row } from "../../common/rows";
import { plain } from "../../common/texts";
import { COMMANDS, type CommandId } from "../../contributions";
import type { Parts } from "../../parts";
import type { Guided } from "./guided";
import { FORGET, PAUSE, STOP, type Run, type RunWorker } from "./messages";
import { isLive, workerName } from "./model";
import type { Output } from "./output";
import { managePresets } from "./presets";
import { NEW_PROFILE } from "./profile_model";
import { draftOf, emptyDraft, noProgram } from "./programs";
import { isConfirmed, type Starting } from "./starting";
import type { Stops } from "./stops";
import type { RunsStore } from "./store";
import { isOfThisWindow } from "./surroundings";
import { ifTrusted } from "./trust";

type Work = (rows: readonly Row[], args: readonly unknown[]) => Promise<unknown>;

export class RunCommands {
  constructor(
    private readonly parts: Parts,
    private readonly store: RunsStore,
    private readonly starting: Starting,
    private readonly stops: Stops,
    private readonly output: Output,
    private readonly guided: Guided,
  ) {}

  register(): Disposable[] {
    const { errors, selection } = this.parts;
    const on = (id: CommandId, doing: string, work: Work): Disposable =>
      vscode.commands.registerCommand(id, (...args: unknown[]) =>
        errors.shown(doing, () => work(selection.of(args), args)),
      );
    const trusted = (id: CommandId, doing: string, work: Work): Disposable =>
      on(id, doing, (rows, args) => ifTrusted(() => work(rows, args)));
    return [
      trusted(COMMANDS.run, "starting a run", (_, args) => this.run(args)),
      trusted(COMMANDS.runForm, "starting a run", (_, args) => this.runForm(args)),
      trusted(COMMANDS.runAgain, "starting a run again", (_, args) => this.runAgain(args)),
      trusted(COMMANDS.debugRun, "starting a run", (_, args) => this.debugRun(args)),
      trusted(COMMANDS.profileWorkers, "starting a run", (_, args) => this.profile(args)),
      trusted(COMMANDS.restartRun, "restarting a run", (rows) => this.restart(rows)),
      trusted(COMMANDS.showRunOutput, "showing a run’s output", (rows) => this.showOutput(rows)),
      on(COMMANDS.stopRun, "stopping a run", (rows) => this.stop(rows)),
      on(COMMANDS.pauseWorker, "pausing a worker", (rows) => this.pause(rows)),
      on(COMMANDS.copyRunCommand, "copying a command", (rows) => this.copy(rows)),
      on(COMMANDS.forgetRun, "forgetting a run", (rows) => this.forget(rows)),
      on(COMMANDS.showRunLine, "showing a line", showLine),
      on(COMMANDS.presets, "changing presets", () => managePresets(this.parts)),
    ];
  }

  private async run(args: readonly unknown[]): Promise<string | undefined> {
    const draft = draftOf(args);
    if (draft === undefined) {
      throw noProgram();
    }
    return await this.starting.run(draft);
  }

  private async runForm(args: readonly unknown[]): Promise<string | undefined> {
    return await this.guided.run("Run on Ray", draftOf(args) ?? emptyDraft());
  }

  /** With the preset that fits. */
  private async debugRun(args: readonly unknown[]): Promise<string | undefined> {
    return await this.guided.run("Debug Run", { ...(draftOf(args) ?? emptyDraft()), preset: "" });
  }

  /** With nsys, and no stop that would be measured. */
  private async profile(args: readonly unknown[]): Promise<string | undefined> {
    const draft = draftOf(args) ?? emptyDraft();
    return await this.guided.run("Profile Workers", { ...draft, profile: NEW_PROFILE });
  }

  /** What this window ran last; before there is any, the program in the editor. */
  private async runAgain(args: readonly unknown[]): Promise<string | undefined> {
    const runs = await this.store.now();
    const last = runs.find((run) => isOfThisWindow(run) && run.can_restart);
    return last === undefined ? await this.run(args) : await this.starting.again(last);
  }

  private async restart(rows: readonly Row[]): Promise<string | undefined> {
    const run = await this.oneOf(rows, (one) => one.can_restart, "Restart which run?");
    return run && (await this.starting.again(run));
  }

  private async stop(rows: readonly Row[]): Promise<void> {
    const run = await this.oneOf(rows, isLive, "Stop which run?");
    const asks = run !== undefined && run.confirm_stop !== "";
    const title = `Stop ${run?.name ?? ""}?`;
    if (run === undefined || (asks && !(await isConfirmed(title, run.confirm_stop, "Stop")))) {
      return;
    }
    await this.parts.sidecar.request(STOP, { id: run.id, confirmed: asks });
  }

  private async showOutput(rows: readonly Row[]): Promise<void> {
    const run = await this.oneOf(rows, () => true, "The output of which run?");
    if (run !== undefined) {
      await this.output.show(run.id, false);
    }
  }

  private async copy(rows: readonly Row[]): Promise<void> {
    const run = await this.oneOf(rows, () => true, "The command of which run?");
    if (run !== undefined) {
      await vscode.env.clipboard.writeText(run.command);
    }
  }

  private async forget(rows: readonly Row[]): Promise<void> {
    const run = await this.oneOf(rows, (one) => !isLive(one), "Forget which run?");
    if (run !== undefined) {
      await this.parts.sidecar.request(FORGET, { id: run.id });
    }
  }

  private async pause(rows: readonly Row[]): Promise<void> {
    const [row] = rows;
    const given = row?.row === "runWorker" ? { run: row.run, worker: row.worker } : undefined;
    const picked = given ?? (await pickWorker(await this.store.now()));
    if (picked !== undefined) {
      const { run, worker } = picked;
      const { cluster, worker_id } = worker;
      await this.stops.wanting({ cluster, worker: worker_id }, () =>
        this.parts.sidecar.request(PAUSE, { run: run.id, worker_id }),
      );
    }
  }

  /** The run of the row as it is now; without one the only run that fits, else the one that the person picks. */
  private async oneOf(
    rows: readonly Row[],
    fits: (run: Run) => boolean,
    title: string,
  ): Promise<Run | undefined> {
    const [row] = rows;
    const id = row !== undefined && "run" in row ? row.run.id : undefined;
    const named = this.store.runs.value.runs.find((run) => run.id === id);
    if (named !== undefined) {
      return named;
    }
    const fitting = (await this.store.now()).filter(fits);
    if (fitting.length === 0) {
      void vscode.window.showInformationMessage("There is no such run.");
    }
    if (fitting.length < 2) {
      return fitting[0];
    }
    const items = fitting.map((run) => ({
      label: plain(run.name),
      description: plain(run.command),
      run,
    }));
    return (await vscode.window.showQuickPick(items, { title, matchOnDescription: true }))?.run;
  }
}

async function showLine(rows: readonly Row[]): Promise<void> {
  const [row] = rows;
  if (row?.row === "runLine") {
    const { path, line, moved_to, state } = row.line;
    const at = (state === "moved" ? moved_to : line) - 1;
    const selection = new vscode.Range(at, 0, at, 0);
    await vscode.window.showTextDocument(vscode.Uri.file(path), { selection, preview: true });
  }
}

async function pickWorker(
  runs: readonly Run[],
): Promise<{ run: Run; worker: RunWorker } | undefined> {
  const items = runs
    .filter(isLive)
    .flatMap((run) => run.workers.map((worker) => ({ run, worker })))
    .filter(({ worker }) => worker.state === "free" || worker.state === "running")
    .map(({ run, worker }) => ({
      label: workerName(worker),
      description: plain(`${run.name} · pid ${worker.pid}`),
      run,
      worker,
    }));
  if (items.length === 0) {
    void vscode.window.showInformationMessage("No worker of a run is running.");
    return undefined;
  }
  return await vscode.window.showQuickPick(items, { title: "Pause which worker?" });
}
