/** The workers of profiled runs that rows are about. */

import { plain } from "../../common/texts";
import type { Row } from "../../rows";
import { workerName } from "../../debug/workers/names";
import type { ProfiledRun, ProfiledRuns } from "./messages";

/** Workers of a run; none of them means all. */
export interface RecordingTarget {
  readonly run: string;
  readonly workers: readonly string[];
}

/** One target a run; a row that no nsys is with gives none. */
export function targetsOf(rows: readonly Row[], { runs }: ProfiledRuns): RecordingTarget[] {
  const selected = new Map<string, Set<string> | "all">();
  for (const { run, workers } of rows.flatMap((row) => named(row, runs))) {
    const before = selected.get(run) ?? new Set();
    if (workers.length === 0 || before === "all") {
      selected.set(run, "all");
    } else {
      selected.set(run, new Set([...before, ...workers]));
    }
  }
  return [...selected].map(([run, workers]) => ({
    run,
    workers: workers === "all" ? [] : [...workers],
  }));
}

/** A gathered report and its worker. */
export interface GatheredReport {
  readonly path: string;
  /** "policy-0 (rank 0)"; "" where it is not known. */
  readonly worker: string;
  readonly node: string;
}

/** The reports that are here of what a target names, in the order of the ranks. */
export function reportsOf(
  { run, workers }: RecordingTarget,
  { runs }: ProfiledRuns,
): GatheredReport[] {
  const profiled = runs.find((profiled) => profiled.run === run)?.workers ?? [];
  return profiled
    .filter(({ worker_id }) => workers.length === 0 || workers.includes(worker_id))
    .flatMap((worker) =>
      worker.reports.map((path) => ({
        path,
        worker: plain(workerName(worker)),
        node: plain(worker.node),
      })),
    );
}

function named(row: Row, runs: readonly ProfiledRun[]): RecordingTarget[] {
  switch (row.row) {
    case "run":
      return runs.filter(({ run }) => run === row.run.id).map(({ run }) => ({ run, workers: [] }));
    case "runWorker":
      return withWorkers([row.worker.worker_id], runs);
    case "worker":
    case "anyWorker":
      return withWorkers([row.worker.worker_id], runs);
    case "group":
    case "anyGroup":
    case "node":
      return withWorkers(
        row.workers.map(({ worker_id }) => worker_id),
        runs,
      );
    default:
      return [];
  }
}

function withWorkers(ids: readonly string[], runs: readonly ProfiledRun[]): RecordingTarget[] {
  return runs
    .map(({ run, workers }) => ({
      run,
      workers: workers.map(({ worker_id }) => worker_id).filter((id) => ids.includes(id)),
    }))
    .filter(({ workers }) => workers.length > 0);
}
