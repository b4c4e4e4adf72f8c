/** What the commands of the view Runs and those that start do; read when the first of them is called. */

import * as vscode from "vscode";

import type { Row } from "../../common/rows";
import { plain } from "../../common/texts";
import type { Parts } from "../../parts";
import { Guided } from "./guided";
import { launch } from "./launch";
import { FORGET, PAUSE, STOP, type Run, type RunWorker } from "./messages";
import { isLive, workerName } from "./model";
import type { Output } from "./output";
import { managePresets } from "./presets";
import { NEW_PROFILE } from "./profile_model";
import { draftOf, emptyDraft, noProgram } from "./programs";
import type { ReviewTexts } from "./review_texts";
import { isConfirmed, Starting } from "./starting";
import type { Stops } from "./stops";
import type { RunsStore } from "./store";
import { isOfThisWindow } from "./surroundings";

export class RunCommands {
  private readonly starting: Starting;
  private readonly guided: Guided;

  /** The ids of what is started are put into `started`. */
  constructor(
    private readonly parts: Parts,
    private readonly store: RunsStore,
    private readonly stops: Stops,
    private readonly output: Output,
    started: Set<string>,
    reviewed: ReviewTexts,
  ) {
    this.starting = new Starting(parts, store, output, started);
    this.guided = new Guided(parts, this.starting, reviewed);
  }

  async run(args: readonly unknown[]): Promise<string | undefined> {
    const draft = draftOf(args);
    if (draft === undefined) {
      throw noProgram();
    }
    return await this.starting.run(draft);
  }

  async runForm(args: readonly unknown[]): Promise<string | undefined> {
    return await this.guided.run("Run on Ray", draftOf(args) ?? emptyDraft());
  }

  /** With the preset that fits. */
  async debugRun(args: readonly unknown[]): Promise<string | undefined> {
    return await this.guided.run("Debug Run", { ...(draftOf(args) ?? emptyDraft()), preset: "" });
  }

  /** With nsys, and no stop that would be measured. */
  async profile(args: readonly unknown[]): Promise<string | undefined> {
    const draft = draftOf(args) ?? emptyDraft();
    return await this.guided.run("Profile Workers", { ...draft, profile: NEW_PROFILE });
  }

  /** By a configuration of launch.json. */
  launch(folder: string, config: vscode.DebugConfiguration): Promise<void> {
    return launch(this.parts, this.store, this.starting, this.guided, folder, config);
  }

  /** What this window ran last; before there is any, the program in the editor. */
  async runAgain(args: readonly unknown[]): Promise<string | undefined> {
    const runs = await this.store.now();
    const last = runs.find((run) => isOfThisWindow(run) && run.can_restart);
    return last === undefined ? await this.run(args) : await this.starting.again(last);
  }

  async restart(rows: readonly Row[]): Promise<string | undefined> {
    const run = await this.oneOf(rows, (one) => one.can_restart, "Restart which run?");
    return run && (await this.starting.again(run));
  }

  async stop(rows: readonly Row[]): Promise<void> {
    const run = await this.oneOf(rows, isLive, "Stop which run?");
    const asks = run !== undefined && run.confirm_stop !== "";
    const title = `Stop ${run?.name ?? ""}?`;
    if (run === undefined || (asks && !(await isConfirmed(title, run.confirm_stop, "Stop")))) {
      return;
    }
    await this.parts.sidecar.request(STOP, { id: run.id, confirmed: asks });
  }

  async showOutput(rows: readonly Row[]): Promise<void> {
    const run = await this.oneOf(rows, () => true, "The output of which run?");
    if (run !== undefined) {
      await this.output.show(run.id, false);
    }
  }

  async copy(rows: readonly Row[]): Promise<void> {
    const run = await this.oneOf(rows, () => true, "The command of which run?");
    if (run !== undefined) {
      await vscode.env.clipboard.writeText(run.command);
    }
  }

  async forget(rows: readonly Row[]): Promise<void> {
    const run = await this.oneOf(rows, (one) => !isLive(one), "Forget which run?");
    if (run !== undefined) {
      await this.parts.sidecar.request(FORGET, { id: run.id });
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

  managePresets(): Promise<void> {
    return managePresets(this.parts);
  }

  async pause(rows: readonly Row[]): Promise<void> {
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
