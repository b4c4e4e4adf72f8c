/** The rows of the view Paused Workers. */

import {
  count,
  dotted,
  duration,
  lines,
  plain,
  spokenText,
  type RowTexts,
} from "../../common/texts";
import { ROWS } from "../../contributions";
import type { Cluster, Clusters } from "../clusters/messages";
import { clusterContext, clusterSentence, failingRoute, problemTexts } from "../clusters/rows";
import type { Location, PausedWorker, Snapshot } from "./messages";
import type { GroupRow, PausedRow } from "./rows";

/** The view's input: the lists, and how many seconds ago the snapshot came. */
export interface PausedView {
  readonly snapshot: Snapshot;
  readonly clusters: Clusters;
  readonly age_s: number;
}

/** With more workers than this the groups start collapsed: nobody reads so many rows, but the editor draws them. */
const UNFOLDED_AT_MOST = 100;

const ICONS: Readonly<Record<PausedWorker["state"], readonly [icon: string, color: string]>> = {
  paused: ["debug-pause", "charts.orange"],
  held: ["lock", "charts.blue"],
  attached: ["debug-alt", "charts.green"],
  running: ["debug-continue", "charts.green"],
  gone: ["debug-disconnect", "disabledForeground"],
};

/** The text of a state in a row; paused is the default and has none. */
const STATES: Readonly<Record<PausedWorker["state"], string>> = {
  paused: "",
  held: "held",
  attached: "attached",
  running: "running",
  gone: "its node is gone",
};

/** Groups of workers; without any, each cluster with its state and its problems. */
export function pausedRows(view: PausedView, row?: PausedRow): readonly PausedRow[] {
  switch (row?.row) {
    case undefined:
      return view.snapshot.groups.length > 0 ? groupRows(view.snapshot) : emptyRows(view.clusters);
    case "group":
      return row.workers.map((worker) => ({ row: "worker", worker, group: row }));
    case "worker":
      return row.worker.children.map((worker) => ({ row: "worker", worker, group: row.group }));
    case "empty":
      return row.cluster.problems.map((problem) => ({
        row: "problem",
        cluster: row.cluster.id,
        problem,
      }));
    case "problem":
      return [];
  }
}

export function pausedTexts(view: PausedView, row: PausedRow): RowTexts {
  switch (row.row) {
    case "group":
      return groupTexts(view, row);
    case "worker":
      return workerTexts(row.worker, view.age_s);
    case "empty":
      return emptyTexts(row.cluster);
    case "problem":
      return problemTexts(row);
  }
}

function groupRows({ groups }: Snapshot): readonly PausedRow[] {
  return groups.map((group) => ({
    row: "group",
    cluster: group.cluster,
    title: group.title,
    workers: group.workers,
  }));
}

function emptyRows({ clusters }: Clusters): readonly PausedRow[] {
  return clusters.map((cluster) => ({ row: "empty", cluster }));
}

function groupTexts(view: PausedView, group: GroupRow): RowTexts {
  const title = plain(group.title);
  const states = stateCounts(group.workers);
  const several = view.clusters.clusters.length > 1;
  const cluster = several ? plain(clusterName(view.clusters, group.cluster)) : "";
  const total = view.snapshot.groups.reduce((sum, { workers }) => sum + workers.length, 0);
  return {
    id: `group ${group.cluster} ${group.title}`,
    label: title,
    description: dotted(states, cluster),
    tooltip: lines(group.title, states, clusterName(view.clusters, group.cluster)),
    spoken: spokenText(`group ${title}`, states, cluster),
    icon: "server-process",
    context: ROWS.group,
    children: total > UNFOLDED_AT_MOST ? "collapsed" : "expanded",
  };
}

/** "4 paused", "3 paused, 1 held". */
function stateCounts(workers: readonly PausedWorker[]): string {
  const order: readonly PausedWorker["state"][] = ["paused", "held", "attached", "running", "gone"];
  return order
    .map((state) => [workers.filter((worker) => worker.state === state).length, state] as const)
    .filter(([number]) => number > 0)
    .map(([number, state]) => `${number} ${state}`)
    .join(", ");
}

function workerTexts(worker: PausedWorker, age_s: number): RowTexts {
  const name = plain(worker.name);
  const state = stateText(worker);
  const rank = worker.rank === null ? "" : `rank ${worker.rank}`;
  const why = plain(reason(worker));
  const place = worker.location === null ? "" : plain(shortPlace(worker.location));
  const waits =
    worker.state === "running" || worker.state === "gone" ? "" : duration(worker.waiting_s + age_s);
  const node = plain(worker.node_ip);
  const [icon, color] = ICONS[worker.state];
  const postMortem = worker.kind === "post-mortem" && worker.state === "paused";
  return {
    id: `worker ${worker.cluster} ${worker.worker_id}`,
    label: name,
    description: dotted(state, rank, why, place, waits, node, `pid ${worker.pid}`),
    tooltip: tooltip(worker, waits),
    spoken: spokenText(
      name,
      rank,
      state || worker.state,
      why,
      place === "" ? "" : `at ${place}`,
      `node ${node}`,
      `process ${worker.pid}`,
      waits === "" ? "" : `waiting ${waits}`,
    ),
    icon: postMortem ? "error" : icon,
    color: postMortem ? "list.errorForeground" : color,
    context: `${ROWS.worker}.${worker.held_on === "" ? worker.state : "elsewhere"}`,
    children: worker.children.length > 0 ? "collapsed" : "none",
  };
}

/** "held", "held on login2"; a click shows what to do. */
function stateText(worker: PausedWorker): string {
  const state = STATES[worker.state];
  return worker.held_on === "" ? state : `${state} on ${plain(worker.held_on)}`;
}

/** Why it waits, unless at an ordinary breakpoint(). */
function reason(worker: PausedWorker): string {
  const attempt = worker.attempt > 0 ? `attempt ${worker.attempt + 1}` : "";
  const relays =
    worker.children.length > 0 ? `relays ${count(worker.children.length, "error")}` : "";
  const kind = worker.kind === "post-mortem" ? worker.exception || "post-mortem" : "";
  return dotted(kind, relays, attempt);
}

/** "policy.py:42". */
function shortPlace(location: Location): string {
  return `${location.path.slice(location.path.lastIndexOf("/") + 1)}:${location.line}`;
}

function tooltip(worker: PausedWorker, waits: string): string {
  const { location } = worker;
  const state = stateText(worker) || worker.state;
  return lines(
    worker.name,
    worker.rank === null ? "" : `Rank ${worker.rank}`,
    waits === "" ? state : `${state}, waiting ${waits}`,
    worker.kind === "unknown" ? "" : worker.kind,
    worker.exception,
    location === null ? "" : `${location.path}:${location.line} in ${location.function}`,
    worker.threads > 1 ? `${worker.threads} threads wait` : "",
    `Node ${worker.node_ip}, pid ${worker.pid}`,
    `Worker ${worker.worker_id}`,
  );
}

function emptyTexts(cluster: Cluster): RowTexts {
  const name = plain(cluster.name);
  const sentence = clusterSentence(cluster);
  return {
    id: `empty ${cluster.id}`,
    label: sentence,
    description: name,
    tooltip: lines(cluster.name, cluster.sentence, failingRoute(cluster)?.sentence ?? ""),
    spoken: spokenText(name, sentence),
    icon: cluster.state === "connecting" ? "loading~spin" : "info",
    context: clusterContext(cluster),
    children: cluster.problems.length > 0 ? "expanded" : "none",
  };
}

/** The message above the list while the route to one of its clusters is failing; else "". */
export function routeTrouble({ snapshot, clusters }: PausedView): string {
  const listed = new Set(snapshot.groups.map((group) => group.cluster));
  return clusters.clusters
    .filter((cluster) => listed.has(cluster.id) && failingRoute(cluster) !== undefined)
    .map((cluster) => `${plain(cluster.name)}: ${clusterSentence(cluster)}`)
    .join("\n");
}

function clusterName({ clusters }: Clusters, id: string): string {
  return clusters.find((cluster) => cluster.id === id)?.name ?? id;
}
