/** Chooses the workers for a command: from its arguments, the rows, or by asking the user. */

import { basename } from "node:path";

import * as vscode from "vscode";

import type { App } from "../../app";
import { dotted, plain } from "../../common/texts";
import { isRow, type Row } from "../../rows";
import type { PausedWorker } from "../workers/messages";
import { stateWord, workerName } from "../workers/names";
import { pausedWorkersOf } from "../../rows";
import { currentRows, targetOf, waiting, type Target } from "./model";

/**
 * The workers for a command.
 *
 * 1. A plain `{cluster, worker}` object: that worker.
 * 2. Rows of any view, those that are selected as the list has them now; of a group the workers that `fit`.
 * 3. None: the user picks one; of a group without one, none.
 */
export async function targetsOf(
  app: App,
  selected: readonly Row[],
  args: readonly unknown[],
  fit: (worker: PausedWorker) => boolean,
): Promise<Target[]> {
  const [argument] = args;
  if (isTarget(argument)) {
    return [argument];
  }
  const listed = isRow(argument) ? selected : currentRows(selected, app.paused.value);
  const rows = listed.map((row) =>
    row.row === "group" ? { ...row, workers: row.workers.filter(fit) } : row,
  );
  const chosen = [
    ...pausedWorkersOf(rows).map(targetOf),
    ...listedElsewhere(rows),
    ...ofRuns(rows),
  ];
  if (chosen.length > 0) {
    return chosen;
  }
  if (rows.some((row) => row.row === "group")) {
    void vscode.window.showInformationMessage(vscode.l10n.t("No worker of this group is paused."));
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

/** Paused workers among rows of the view Clusters. */
function listedElsewhere(rows: readonly Row[]): Target[] {
  return rows
    .flatMap((row) =>
      row.row === "anyWorker" && row.worker.state === "paused" ? [row.worker] : [],
    )
    .map((worker) => ({ cluster: worker.cluster, worker: worker.worker_id }));
}

/** Workers of runs, which are stopped or wait for a debugger. */
function ofRuns(rows: readonly Row[]): Target[] {
  return rows
    .flatMap((row) => (row.row === "runWorker" ? [row] : []))
    .map(({ run, worker }) => ({ cluster: run.cluster, worker: worker.worker_id }));
}

/** The waiting workers that `fit`; where none is listed, all clusters are queried first. */
export async function waitingNow(
  app: App,
  fit: (worker: PausedWorker) => boolean = () => true,
): Promise<readonly PausedWorker[]> {
  const listed = waiting(app.paused.value).filter(fit);
  if (listed.length > 0) {
    return listed;
  }
  const location = vscode.ProgressLocation.Window;
  const title = vscode.l10n.t("Searching for paused workers");
  await vscode.window.withProgress({ location, title }, () => app.refresh());
  return waiting(app.paused.value).filter(fit);
}

/** Asks only when there are several; shows a message when there is none. */
export async function pickWaiting(listed: readonly PausedWorker[]): Promise<Target | undefined> {
  const [only] = listed;
  if (!only) {
    void vscode.window.showInformationMessage(vscode.l10n.t("No worker is paused."));
    return undefined;
  }
  if (listed.length === 1) {
    return targetOf(only);
  }
  const items = listed.map((worker) => ({
    label: plain(workerName(worker)),
    description: plain(
      dotted(stateWord(worker.state), worker.node_ip, vscode.l10n.t("PID {0}", worker.pid)),
    ),
    detail: place(worker),
    target: targetOf(worker),
  }));
  const picked = await vscode.window.showQuickPick(items, {
    placeHolder: vscode.l10n.t("Select a worker to attach to"),
    matchOnDescription: true,
  });
  return picked?.target;
}

function place(worker: PausedWorker): string {
  const at = worker.location;
  return plain(at ? `${basename(at.path)}:${at.line} · ${at.function} · ${worker.exception}` : "");
}
