/** The commands of the debugging feature. */

import { basename } from "node:path";

import * as vscode from "vscode";

import { plain } from "../../common/texts";
import type { RequestMethod } from "../../common/wire";
import { COMMANDS } from "../../contributions";
import type { Parts } from "../../parts";
import { isRow, type Row } from "../../rows";
import type { PausedWorker } from "../workers/messages";
import { pausedWorkersOf } from "../workers/rows";
import type { Attacher } from "./attacher";
import {
  CONTINUE,
  CONTINUE_OTHERS,
  FORGET_IGNORED,
  IGNORE,
  IGNORED,
  RELEASE,
  type Outcome,
  type Workers,
} from "./messages";
import { asListed, nextWaiting, standsHere, targetOf, waits, type Target } from "./model";
import { actOn } from "./outcomes";
import { pickWaiting, waitingNow } from "./pick";
import type { Sessions } from "./sessions";

type Handler = (...args: readonly unknown[]) => Promise<unknown>;

export function registerCommands(
  parts: Parts,
  attacher: Attacher,
  sessions: Sessions,
): vscode.Disposable[] {
  const commands: Record<string, Handler> = {
    [COMMANDS.attach]: (...args) => attach(parts, attacher, args),
    [COMMANDS.attachNext]: () => attachNext(parts, attacher, sessions),
    [COMMANDS.continue]: (...args) => act(parts, "continuing", CONTINUE, args),
    [COMMANDS.continueGroup]: (...args) => act(parts, "continuing", CONTINUE, args),
    [COMMANDS.continueOthers]: (...args) =>
      act(parts, "continuing others than", CONTINUE_OTHERS, args),
    [COMMANDS.release]: (...args) => act(parts, "releasing", RELEASE, args),
    [COMMANDS.ignore]: (...args) => act(parts, "ignoring", IGNORE, args),
    [COMMANDS.forgetIgnored]: () => forgetIgnored(parts),
  };
  return Object.entries(commands).map(([id, run]) => vscode.commands.registerCommand(id, run));
}

/**
 * The workers that a command is meant for.
 *
 * 1. A plain `{cluster, worker}` object: that worker.
 * 2. Rows of any view, those that are selected as the list has them now; of a group the workers that `fit`.
 * 3. None: the person picks one; of a group that has none, nobody.
 */
async function targets(
  parts: Parts,
  args: readonly unknown[],
  fit: (worker: PausedWorker) => boolean,
): Promise<Target[]> {
  const [given] = args;
  if (isTarget(given)) {
    return [given];
  }
  const chosen = parts.selection.of(args);
  const listed = isRow(given) ? chosen : asListed(chosen, parts.paused.value);
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
  const picked = await parts.errors.shown("looking for paused workers", async () =>
    pickWaiting(await waitingNow(parts)),
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

/** Workers of runs, which stand or wait for a debugger. */
function ofRuns(rows: readonly Row[]): Target[] {
  return rows
    .flatMap((row) => (row.row === "runWorker" ? [row.worker] : []))
    .map((worker) => ({ cluster: worker.cluster, worker: worker.worker_id }));
}

/** One after another: each session that begins takes the focus, and the last one keeps it. */
async function attach(
  parts: Parts,
  attacher: Attacher,
  args: readonly unknown[],
): Promise<boolean> {
  const wanted = await targets(parts, args, waits);
  let all = wanted.length > 0;
  for (const target of wanted) {
    all = (await attacher.attach(target)) && all;
  }
  return all;
}

async function attachNext(parts: Parts, attacher: Attacher, sessions: Sessions): Promise<boolean> {
  const listed = await parts.errors.shown("looking for paused workers", () => waitingNow(parts));
  if (listed === undefined) {
    return false;
  }
  const next = nextWaiting(parts.paused.value, sessions.last);
  if (!next) {
    void vscode.window.showInformationMessage("No worker is paused.");
    return false;
  }
  return await attacher.attach(targetOf(next));
}

/** Sends `method` once per cluster, since a request is for workers of one cluster. */
async function act(
  parts: Parts,
  doing: string,
  method: RequestMethod<Workers, Outcome>,
  args: readonly unknown[],
): Promise<void> {
  const wanted = await targets(parts, args, standsHere);
  for (const cluster of new Set(wanted.map((target) => target.cluster))) {
    const workers = wanted.filter((target) => target.cluster === cluster);
    await actOn(
      parts,
      doing,
      method,
      cluster,
      workers.map((target) => target.worker),
    );
  }
}

async function forgetIgnored(parts: Parts): Promise<void> {
  await parts.errors.shown("taking back an ignored breakpoint()", async () => {
    const { ignored } = await parts.sidecar.request(IGNORED, {});
    if (ignored.length === 0) {
      void vscode.window.showInformationMessage("No breakpoint() is ignored.");
      return;
    }
    const items = ignored.map((one) => ({
      label: plain(`${basename(one.path)}:${one.line}`),
      description: plain(one.path),
      detail: plain(one.cluster),
      one,
    }));
    const picked = await vscode.window.showQuickPick(items, {
      placeHolder: "Which breakpoint() stops workers again?",
    });
    if (picked) {
      await parts.sidecar.request(FORGET_IGNORED, picked.one);
    }
  });
}
