/** The names of runs and of their processes. */

import { l10n } from "vscode";

import { plain } from "../common/texts";
import type { Run, RunWorkerStatus } from "./messages";

/** A longer name would leave no room for the state in a side bar of 300 px. */
const NAME_LIMIT = 24;

/** "train.py --steps 3", in its row and as the name of its terminal. */
export function runName(run: Pick<Run, "name" | "arguments">, limit = NAME_LIMIT): string {
  return plain(`${run.name} ${run.arguments}`.trim(), Math.min(limit, NAME_LIMIT));
}

/** The name of a process, in its row and in pick lists. */
export function workerName(worker: RunWorkerStatus): string {
  return plain(worker.name) || l10n.t("process {0}", worker.pid);
}

/** The name in sentences: "policy-0 (rank 0)". */
export function workerTitle(worker: RunWorkerStatus): string {
  const name = workerName(worker);
  return worker.rank === "" ? name : l10n.t("{0} (rank {1})", name, plain(worker.rank));
}
