/** The rows of the view Clusters: below each cluster its nodes or classes, and below these the workers. */

import { l10n } from "vscode";

import { dotted, lines, plain, spokenText, type RowTexts } from "../../common/texts";
import { ROWS } from "../../contributions";
import type { ClusterProblem } from "../../clusters/messages";
import type { ClusterRow, ClustersRow } from "../../clusters/rows";
import { clustersRows, clustersTexts, type ClustersView } from "../../clusters/tree_rows";
import { stopCounts, stopTexts, workersText } from "../../clusters/worker_counts";
import { namesRank, STATE_ICONS } from "./names";
import type { AllWorkers, LiveNode, LiveWorker } from "./messages";
import type { AnyGroupRow, ClusterTreeRow, LoadingRow, NodeRow } from "./rows";

export type Grouping = "class" | "node";

/** An only node with more workers than this starts collapsed. */
const UNFOLDED_AT_MOST = 50;

/** The nodes and workers of a cluster, or why they aren't available; undefined while they are requested. */
export type Loaded = AllWorkers | ClusterProblem | undefined;

export interface ClusterTreeView extends ClustersView {
  readonly grouping: Grouping;
  /** Also has them requested. */
  loaded(cluster: string): Loaded;
}

export function clusterTreeRows(
  view: ClusterTreeView,
  row?: ClusterTreeRow,
): readonly ClusterTreeRow[] {
  switch (row?.row) {
    case undefined:
      return clustersRows(view);
    case "cluster":
      return belowCluster(view, row);
    case "jobHost":
      return [
        ...(row.host.problem === null ? [] : [problemRow("", row.host.problem)]),
        ...row.jobs,
      ];
    case "node":
      return onNode(row);
    case "anyGroup":
      return row.workers.map((worker) => ({ row: "anyWorker", worker }));
    default:
      return [];
  }
}

export function clusterTreeTexts(view: ClusterTreeView, row: ClusterTreeRow): RowTexts {
  switch (row.row) {
    case "node":
      return nodeTexts(row);
    case "anyGroup":
      return groupTexts(row);
    case "anyWorker":
      return workerTexts(row.worker, view.grouping);
    case "loading":
      return loadingTexts(row);
    default:
      return clustersTexts(view, row);
  }
}

/** Its problems, then nodes or classes where it is connected. */
function belowCluster(view: ClusterTreeView, { cluster }: ClusterRow): readonly ClusterTreeRow[] {
  const { id } = cluster;
  const problems = cluster.problems.map((problem) => problemRow(id, problem));
  if (cluster.state !== "connected") {
    return problems;
  }
  const loaded = view.loaded(id);
  if (loaded === undefined) {
    return [...problems, { row: "loading", cluster: id }];
  }
  if ("code" in loaded) {
    return [...problems, problemRow(id, loaded)];
  }
  return [...problems, ...(view.grouping === "node" ? nodesOf(id, loaded) : classesOf(id, loaded))];
}

function problemRow(cluster: string, problem: ClusterProblem): ClustersRow {
  return { row: "problem", cluster, problem };
}

/** Every live node, also one without a worker, and last the actors that have no node yet. */
function nodesOf(cluster: string, { workers, nodes }: AllWorkers): readonly ClusterTreeRow[] {
  const byNode = new Map<string, LiveWorker[]>(nodes.map(({ node_id }) => [node_id, []]));
  const byId = new Map(nodes.map((node) => [node.node_id, node]));
  for (const worker of workers) {
    const listed = byNode.get(worker.node_id);
    if (listed === undefined) {
      byNode.set(worker.node_id, [worker]);
    } else {
      listed.push(worker);
    }
  }
  const isOnly = [...byNode.keys()].filter((id) => id !== "").length === 1;
  const rows = [...byNode].map(([id, ofNode]): NodeRow | AnyGroupRow => {
    const unlisted: LiveNode = {
      node_id: id,
      ip: ofNode[0]?.node_ip ?? "",
      name: "",
      is_head: false,
    };
    return id === ""
      ? {
          row: "anyGroup",
          cluster,
          node: "",
          kind: "pending",
          title: l10n.t("Pending"),
          workers: ofNode,
        }
      : { row: "node", cluster, node: byId.get(id) ?? unlisted, workers: ofNode, isOnly };
  });
  return [...rows.filter(({ row }) => row === "node"), ...rows.filter(({ row }) => row !== "node")];
}

/** Workers that do something, and the idle ones together: they are alike. */
function onNode({ cluster, node, workers }: NodeRow): readonly ClusterTreeRow[] {
  const idle = workers.filter(({ kind }) => kind === "idle");
  const busy = workers.filter(({ kind }) => kind !== "idle");
  return [
    ...busy.map((worker) => ({ row: "anyWorker" as const, worker })),
    ...(idle.length > 0 ? [idleRow(cluster, node.node_id, idle)] : []),
  ];
}

/** Drivers, a group for each class of actors and each function, and the idle workers. */
function classesOf(cluster: string, { workers }: AllWorkers): readonly ClusterTreeRow[] {
  const groups = new Map<string, LiveWorker[]>();
  for (const worker of workers.filter(({ kind }) => kind === "actor" || kind === "task")) {
    const title = classOf(worker);
    const listed = groups.get(title);
    if (listed === undefined) {
      groups.set(title, [worker]);
    } else {
      listed.push(worker);
    }
  }
  const drivers = workers.filter(({ kind }) => kind === "driver");
  const idle = workers.filter(({ kind }) => kind === "idle");
  return [
    ...drivers.map((worker) => ({ row: "anyWorker" as const, worker })),
    ...[...groups].map(([title, ofClass]): AnyGroupRow => ({
      row: "anyGroup",
      cluster,
      node: "",
      kind: "class",
      title,
      workers: ofClass,
    })),
    ...(idle.length > 0 ? [idleRow(cluster, "", idle)] : []),
  ];
}

function idleRow(cluster: string, node: string, workers: readonly LiveWorker[]): AnyGroupRow {
  return { row: "anyGroup", cluster, node, kind: "idle", title: l10n.t("Idle"), workers };
}

function classOf({ class_name, kind }: LiveWorker): string {
  return class_name === "" ? (kind === "actor" ? l10n.t("Actors") : l10n.t("Tasks")) : class_name;
}

function nodeTexts({ cluster, node, workers, isOnly }: NodeRow): RowTexts {
  const name = plain(node.name) || plain(node.ip) || l10n.t("node");
  const sizes = sizeTexts(workers);
  const size = dotted(...sizes);
  const head = node.is_head ? l10n.t("head") : "";
  return {
    id: `node ${cluster} ${node.node_id}`,
    label: name,
    description: dotted(size, head),
    tooltip: lines(
      name,
      node.is_head ? l10n.t("Head node") : "",
      node.ip === "" || node.ip === node.name ? "" : node.ip,
      size,
      l10n.t("Node {0}", node.node_id),
    ),
    spoken: spokenText(l10n.t("node {0}", name), head && l10n.t("head node"), ...sizes),
    icon: "vm",
    context: ROWS.node,
    children: childrenOf(workers, isOnly),
  };
}

function childrenOf(workers: readonly LiveWorker[], isOnly: boolean): RowTexts["children"] {
  if (workers.length === 0) {
    return "none";
  }
  return isOnly && workers.length <= UNFOLDED_AT_MOST ? "expanded" : "collapsed";
}

/** "1 paused", "3 workers", "1 idle", "1 pending"; drivers don't count, as in the row of the cluster. */
function sizeTexts(workers: readonly LiveWorker[]): readonly string[] {
  const counted = workers.filter(({ kind }) => kind !== "driver");
  const started = counted.filter(({ worker_id: id }) => id !== "");
  const idle = started.filter(({ kind }) => kind === "idle").length;
  const pending = counted.length - started.length;
  return [
    ...stopTexts(stopCounts(workers)),
    workersText(started.length),
    ...(idle > 0 ? [l10n.t("{0} idle", idle)] : []),
    ...(pending > 0 ? [l10n.t("{0} pending", pending)] : []),
  ];
}

const GROUP_ICONS: Readonly<Record<AnyGroupRow["kind"], string>> = {
  class: "server-process",
  idle: "circle-outline",
  pending: "watch",
};

function groupTexts(group: AnyGroupRow): RowTexts {
  const title = plain(group.title);
  const sizes = group.kind === "class" ? sizeTexts(group.workers) : [`${group.workers.length}`];
  const size = dotted(...sizes);
  return {
    id: `anyGroup ${group.cluster} ${group.kind} ${group.node} ${group.title}`,
    label: title,
    description: size,
    tooltip: lines(group.title, size),
    spoken: spokenText(group.kind === "class" ? l10n.t("class {0}", title) : title, ...sizes),
    icon: GROUP_ICONS[group.kind],
    context: ROWS.anyGroup,
    children: "collapsed",
  };
}

const KIND_ICONS: Readonly<Record<LiveWorker["kind"], string>> = {
  actor: "server-process",
  task: "server-process",
  driver: "home",
  idle: "circle-outline",
};

const KINDS: Readonly<Record<LiveWorker["kind"], string>> = {
  actor: l10n.t("actor"),
  task: l10n.t("task"),
  driver: l10n.t("driver"),
  idle: l10n.t("idle worker"),
};

const STATES: Readonly<Record<LiveWorker["state"], string>> = {
  running: l10n.t("running"),
  idle: l10n.t("idle"),
  pending: l10n.t("pending"),
  restarting: l10n.t("restarting"),
  paused: l10n.t("paused"),
  held: l10n.t("held"),
  debugging: l10n.t("debugging"),
};

/** Whether a worker is in the view Paused, too. */
function isListed(state: LiveWorker["state"]): state is "paused" | "held" | "debugging" {
  return state === "paused" || state === "held" || state === "debugging";
}

function workerTexts(worker: LiveWorker, grouping: Grouping): RowTexts {
  const isDriver = worker.kind === "driver";
  const isIdle = worker.kind === "idle";
  const process = worker.pid === 0 ? "" : l10n.t("process {0}", worker.pid);
  const name = isIdle ? process || STATES.idle : plain(driverName(worker));
  const rank = worker.rank === null ? "" : l10n.t("rank {0}", worker.rank);
  const state = isDriver
    ? dotted(KINDS.driver, pausedState(worker))
    : isIdle
      ? ""
      : STATES[worker.state];
  const running = worker.running === "" ? "" : l10n.t("Runs {0}", worker.running);
  const where = grouping === "class" ? plain(worker.node_ip) : "";
  const { icon, color } = isListed(worker.state)
    ? STATE_ICONS[worker.state]
    : { icon: KIND_ICONS[worker.kind], color: undefined };
  return {
    // An actor that still waits for its worker has no worker id.
    id: `anyWorker ${worker.cluster} ${worker.worker_id || worker.actor_id}`,
    label: name,
    description: dotted(namesRank(name, worker.rank) ? "" : rank, state, where),
    tooltip: lines(
      worker.name,
      worker.class_name,
      dotted(KINDS[worker.kind], isIdle ? "" : STATES[worker.state]),
      running,
      process && l10n.t("Node {0}, {1}", worker.node_ip, process),
      worker.worker_id && l10n.t("Worker {0}", worker.worker_id),
      worker.actor_id && l10n.t("Actor {0}", worker.actor_id),
      worker.job_id && l10n.t("Job {0}", worker.job_id),
    ),
    spoken: spokenText(
      isIdle ? l10n.t("idle worker") : name,
      isIdle ? "" : KINDS[worker.kind],
      rank,
      isIdle ? "" : STATES[worker.state],
      plain(running),
      where,
      process,
    ),
    icon,
    ...(color === undefined ? {} : { color }),
    context: worker.state === "paused" ? `${ROWS.anyWorker}.paused` : ROWS.anyWorker,
    children: "none",
  };
}

function pausedState({ state }: LiveWorker): string {
  return state === "running" ? "" : STATES[state];
}

/** The description says that it is a driver. */
function driverName({ kind, name }: LiveWorker): string {
  return kind === "driver" ? name.replace(/^driver · /, "") : name;
}

function loadingTexts({ cluster }: LoadingRow): RowTexts {
  return {
    id: `loading ${cluster}`,
    label: l10n.t("Loading workers…"),
    description: "",
    tooltip: "",
    spoken: l10n.t("Loading workers"),
    icon: "loading~spin",
    context: "",
    children: "none",
  };
}
