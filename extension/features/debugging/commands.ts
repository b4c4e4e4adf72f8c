/** The commands of the debugging feature. */

import { basename } from "node:path";

import * as vscode from "vscode";

import type { App } from "../../app";
import { plain } from "../../common/texts";
import type { RequestMethod } from "../../common/wire";
import { isRow, type Row } from "../../panel";
import type { PausedWorker } from "../workers/messages";
import { pausedWorkersOf } from "../workers/rows";
import type { Attacher } from "./attacher";
import { FORGET_IGNORED, IGNORED, type Outcome, type Workers } from "./messages";
import {
  currentRows,
  isControllable,
  isWaiting,
  nextWaiting,
  targetOf,
  type Target,
} from "./model";
import type { DebugSessions } from "./sessions";
import { requestAction } from "./worker_actions";
import { pickWaiting, waitingNow } from "./worker_picker";

export class DebugCommands {
  constructor(
    private readonly app: App,
    private readonly attacher: Attacher,
    private readonly sessions: DebugSessions,
  ) {}

  /** One after another: each session that begins takes the focus, and the last one keeps it. */
  async attach(rows: readonly Row[], args: readonly unknown[]): Promise<boolean> {
    const chosen = await targets(this.app, rows, args, isWaiting);
    let all = chosen.length > 0;
    for (const target of chosen) {
      all = (await this.attacher.attach(target)) && all;
    }
    return all;
  }

  async attachNext(): Promise<boolean> {
    const { app, sessions } = this;
    const listed = await app.errors.shown("looking for paused workers", () => waitingNow(app));
    if (listed === undefined) {
      return false;
    }
    const next = nextWaiting(app.paused.value, sessions.last);
    if (!next) {
      void vscode.window.showInformationMessage("No worker is paused.");
      return false;
    }
    return await this.attacher.attach(targetOf(next));
  }

  /** Sends `method` once per cluster, since a request is for workers of one cluster. */
  async act(
    doing: string,
    method: RequestMethod<Workers, Outcome>,
    rows: readonly Row[],
    args: readonly unknown[],
  ): Promise<void> {
    const chosen = await targets(this.app, rows, args, isControllable);
    for (const cluster of new Set(chosen.map((target) => target.cluster))) {
      const workers = chosen.filter((target) => target.cluster === cluster);
      await requestAction(
        this.app,
        doing,
        method,
        cluster,
        workers.map((target) => target.worker),
      );
    }
  }

  async forgetIgnored(): Promise<void> {
    const { ignored } = await this.app.sidecar.request(IGNORED, {});
    if (ignored.length === 0) {
      void vscode.window.showInformationMessage("No breakpoint() is ignored.");
      return;
    }
    const items = ignored.map((place) => ({
      label: plain(`${basename(place.path)}:${place.line}`),
      description: plain(place.path),
      detail: plain(place.cluster),
      place,
    }));
    const picked = await vscode.window.showQuickPick(items, {
      placeHolder: "Which breakpoint() stops workers again?",
    });
    if (picked) {
      await this.app.sidecar.request(FORGET_IGNORED, picked.place);
    }
  }
}

/**
 * The workers for a command.
 *
 * 1. A plain `{cluster, worker}` object: that worker.
 * 2. Rows of any view, those that are selected as the list has them now; of a group the workers that `fit`.
 * 3. None: the user picks one; of a group without one, none.
 */
async function targets(
  app: App,
  selected: readonly Row[],
  args: readonly unknown[],
  fit: (worker: PausedWorker) => boolean,
): Promise<Target[]> {
  const [given] = args;
  if (isTarget(given)) {
    return [given];
  }
  const listed = isRow(given) ? selected : currentRows(selected, app.paused.value);
  const rows = listed.map((row) =>
    row.row === "group" ? { ...row, workers: row.workers.filter(fit) } : row,
  );
  const named = [...pausedWorkersOf(rows).map(targetOf), ...listedElsewhere(rows), ...ofRuns(rows)];
  if (named.length > 0) {
    return named;
  }
  if (rows.some((row) => row.row === "group")) {
    void vscode.window.showInformationMessage("No worker of this group waits on this machine.");
    return [];
  }
  const picked = await app.errors.shown("looking for paused workers", async () =>
    pickWaiting(await waitingNow(app)),
  );
  return picked ? [picked] : [];
}

function isTarget(value: unknown): value is Target {
  const { cluster, worker } = (value ?? {}) as Partial<Record<keyof Target, unknown>>;
  return typeof cluster === "string" && typeof worker === "string";
}

/** Paused workers among rows of All Workers. */
function listedElsewhere(rows: readonly Row[]): Target[] {
  return rows
    .flatMap((row) => (row.row === "anyWorker" && row.worker.paused ? [row.worker] : []))
    .map((worker) => ({ cluster: worker.cluster, worker: worker.worker_id }));
}

/** Workers of runs, which are stopped or wait for a debugger. */
function ofRuns(rows: readonly Row[]): Target[] {
  return rows
    .flatMap((row) => (row.row === "runWorker" ? [row] : []))
    .map(({ run, worker }) => ({ cluster: run.cluster, worker: worker.worker_id }));
}
