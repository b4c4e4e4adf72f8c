/** The row types of the views Paused and Clusters, and the workers that rows are about. */

import type { Cluster } from "../../clusters/messages";
import type { ClustersRow, ProblemRow } from "../../clusters/rows";
import type { LiveNode, LiveWorker, PausedWorker } from "./messages";

/** Paused workers that run the same thing, or that failed in it. */
export interface GroupRow {
  readonly row: "group";
  readonly cluster: string;
  readonly title: string;
  readonly workers: readonly PausedWorker[];
  readonly post_mortem: boolean;
  /** Which ranks wait for the workers, and where; "" if that isn't known. */
  readonly waiting: string;
  readonly sentence: string;
}

/** One paused, held or debugged worker; `group` is its parent row. */
export interface WorkerRow {
  readonly row: "worker";
  readonly worker: PausedWorker;
  readonly group: GroupRow;
}

/** Which ranks wait for the paused workers of a group. */
interface SentenceRow {
  readonly row: "sentence";
  readonly group: GroupRow;
}

/** A cluster in the view Paused while no worker is paused. */
interface EmptyRow {
  readonly row: "empty";
  readonly cluster: Cluster;
}

/** A live node of a cluster with its workers; `isOnly`: the cluster has no other. */
export interface NodeRow {
  readonly row: "node";
  readonly cluster: string;
  readonly node: LiveNode;
  readonly workers: readonly LiveWorker[];
  readonly isOnly: boolean;
}

/** Workers of a class, idle ones (of `node`, "" for all nodes), or actors that wait for a node. */
export interface AnyGroupRow {
  readonly row: "anyGroup";
  readonly cluster: string;
  readonly node: string;
  readonly kind: "class" | "idle" | "pending";
  readonly title: string;
  readonly workers: readonly LiveWorker[];
}

/** Stands for the nodes and workers of a cluster until they are loaded. */
export interface LoadingRow {
  readonly row: "loading";
  readonly cluster: string;
}

/** A worker of the view Clusters, paused or not. */
interface AnyWorkerRow {
  readonly row: "anyWorker";
  readonly worker: LiveWorker;
}

/** A worker of either view, as the commands about logs need it. */
export interface WorkerName {
  readonly cluster: string;
  readonly worker_id: string;
  readonly name: string;
  readonly rank: number | null;
}

/** A worker of either view, as the commands that copy need it. */
export interface WorkerPlace extends WorkerName {
  readonly pid: number;
  readonly node_ip: string;
}

export type PausedRow = GroupRow | SentenceRow | WorkerRow | EmptyRow | ProblemRow;

export type ClusterTreeRow = ClustersRow | NodeRow | AnyGroupRow | AnyWorkerRow | LoadingRow;
