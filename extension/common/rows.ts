/** The rows of the views, as commands get them from context menus, keys and inline buttons. */

import type { Cluster, Job, JobHost, Problem } from "../features/clusters/messages";
import type { Run, RunLine, RunWorker } from "../features/runs/messages";
import type { PausedWorker, Worker } from "../features/workers/messages";

/** Paused workers that run the same thing. */
export interface GroupRow {
  readonly row: "group";
  readonly cluster: string;
  readonly title: string;
  readonly workers: readonly PausedWorker[];
}

/** One paused, held or attached worker; `group` is the row that it stands under. */
export interface WorkerRow {
  readonly row: "worker";
  readonly worker: PausedWorker;
  readonly group: GroupRow;
}

/** What an empty Paused Workers view says of a cluster. */
export interface EmptyRow {
  readonly row: "empty";
  readonly cluster: Cluster;
}

export interface ClusterRow {
  readonly row: "cluster";
  readonly cluster: Cluster;
}

/** A running job that holds a Ray which is not connected yet; `connecting`: it is just being done. */
export interface JobRow {
  readonly row: "job";
  readonly job: Job;
  readonly connecting: boolean;
}

/** A host behind ssh whose jobs are looked at. */
export interface JobHostRow {
  readonly row: "jobHost";
  readonly host: JobHost;
}

/** Something that stands in the way; `cluster` is "" for what belongs to none. */
export interface ProblemRow {
  readonly row: "problem";
  readonly cluster: string;
  readonly problem: Problem;
}

/** Workers of the All Workers view that have the class or the node in common. */
export interface AnyGroupRow {
  readonly row: "anyGroup";
  readonly cluster: string;
  readonly title: string;
  readonly workers: readonly Worker[];
}

/** A worker of the All Workers view, paused or not. */
export interface AnyWorkerRow {
  readonly row: "anyWorker";
  readonly worker: Worker;
}

/** A start of the person's program, with what came of it. */
export interface RunRow {
  readonly row: "run";
  readonly run: Run;
}

/** A process of a run. */
export interface RunWorkerRow {
  readonly row: "runWorker";
  readonly run: Run;
  readonly worker: RunWorker;
}

/** A breakpoint of a run that is not where it was set, or that nobody has reached. */
export interface RunLineRow {
  readonly row: "runLine";
  readonly run: Run;
  readonly line: RunLine;
}

/**
 * The paused workers that a command is meant for: those of the row it was called on and of the rows
 * selected with it, else of the selection; each once.  Rows of other kinds give none.
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

/** A worker of either view, as far as its log is concerned. */
export interface WorkerName {
  readonly cluster: string;
  readonly worker_id: string;
  readonly name: string;
}

/** All workers that rows of any view stand for. */
export function workersOf(rows: readonly Row[]): WorkerName[] {
  return rows.flatMap((row): readonly WorkerName[] => {
    switch (row.row) {
      case "worker":
      case "anyWorker":
        return [row.worker];
      case "group":
      case "anyGroup":
        return row.workers;
      default:
        return [];
    }
  });
}

/** The cluster whose own row it is, in whichever view. */
export function clusterIdOf(row: Row | undefined): string | undefined {
  return row?.row === "cluster" || row?.row === "empty" ? row.cluster.id : undefined;
}

/** Whether `value` is a row: commands may be called with anything, by keys, other extensions and tests. */
export function isRow(value: unknown): value is Row {
  return typeof value === "object" && value !== null && "row" in value;
}

export type PausedRow = GroupRow | WorkerRow | EmptyRow | ProblemRow;
export type ClustersRow = ClusterRow | JobRow | JobHostRow | ProblemRow;
export type AllRow = ClusterRow | AnyGroupRow | AnyWorkerRow | ProblemRow;
export type RunsRow = RunRow | RunWorkerRow | RunLineRow;
export type Row = PausedRow | ClustersRow | AllRow | RunsRow;
