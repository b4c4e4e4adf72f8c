/** The rows of all views, which commands get. */

import type { PausedWorker } from "./debug/workers/messages";
import type { ClusterTreeRow, PausedRow, WorkerPlace } from "./debug/workers/rows";
import type { RunsRow } from "./runs/rows";

export type Row = PausedRow | ClusterTreeRow | RunsRow;

/** Whether `value` is a row: commands may be called with anything, by keys, other extensions and tests. */
export function isRow(value: unknown): value is Row {
  return typeof value === "object" && value !== null && "row" in value;
}

/** The cluster of a cluster's row, or of a problem's, in any view. */
export function clusterIdOf(row: Row | undefined): string | undefined {
  switch (row?.row) {
    case "cluster":
    case "empty":
      return row.cluster.id;
    case "problem":
      return row.cluster === "" ? undefined : row.cluster;
    default:
      return undefined;
  }
}

/**
 * The paused workers of rows, each once.  Rows of other kinds give none.
 */
export function pausedWorkersOf(rows: readonly Row[]): PausedWorker[] {
  const found = new Map<string, PausedWorker>();
  for (const row of rows) {
    const workers = row.row === "group" ? row.workers : row.row === "worker" ? [row.worker] : [];
    for (const worker of workers) {
      found.set(`${worker.cluster} ${worker.worker_id}`, worker);
    }
  }
  return [...found.values()];
}

/** All workers of rows of any view. */
export function workersOf(rows: readonly Row[]): WorkerPlace[] {
  return rows.flatMap((row): readonly WorkerPlace[] => {
    switch (row.row) {
      case "worker":
      case "anyWorker":
        return [row.worker];
      case "group":
      case "anyGroup":
      case "node":
        return row.workers;
      default:
        return [];
    }
  });
}
