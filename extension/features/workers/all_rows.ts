/** The rows of the view All Workers. */

import { count, dotted, lines, plain, spokenText, type RowTexts } from "../../common/texts";
import { ROWS } from "../../contributions";
import type { Cluster, ClusterProblem } from "../clusters/messages";
import { clusterTexts, problemTexts } from "../clusters/rows";
import type { LiveWorker } from "./messages";
import type { AllRow, AnyGroupRow } from "./rows";

export type Grouping = "class" | "node";

/** The workers of a cluster, or why they aren't available; undefined while they are requested. */
export type Loaded = readonly LiveWorker[] | ClusterProblem | undefined;

export interface AllView {
  readonly clusters: readonly Cluster[];
  readonly grouping: Grouping;
  loaded(cluster: string): Loaded;
}

const ICONS: Readonly<Record<LiveWorker["kind"], string>> = {
  actor: "symbol-class",
  task: "symbol-method",
  driver: "home",
  idle: "circle-outline",
};

/** With one cluster its groups are at the root; with several, below their clusters. */
export function allRows(view: AllView, row?: AllRow): readonly AllRow[] {
  switch (row?.row) {
    case undefined: {
      const [only, ...more] = view.clusters;
      return only !== undefined && more.length === 0
        ? groupsOf(view, only.id)
        : view.clusters.map((cluster) => ({ row: "cluster", cluster }));
    }
    case "cluster":
      return groupsOf(view, row.cluster.id);
    case "anyGroup":
      return row.workers.map((worker) => ({ row: "anyWorker", worker }));
    default:
      return [];
  }
}

export function allTexts(view: AllView, row: AllRow): RowTexts {
  switch (row.row) {
    case "cluster":
      return { ...clusterTexts(row.cluster), children: "expanded" };
    case "anyGroup":
      return groupTexts(row, view.grouping);
    case "anyWorker":
      return anyWorkerTexts(row.worker, view.grouping);
    case "problem":
      return problemTexts(row);
  }
}

function groupsOf(view: AllView, cluster: string): readonly AllRow[] {
  const loaded = view.loaded(cluster);
  if (loaded === undefined) {
    return [];
  }
  if ("code" in loaded) {
    return [{ row: "problem", cluster, problem: loaded }];
  }
  const groups = new Map<string, LiveWorker[]>();
  for (const worker of loaded) {
    const title = view.grouping === "class" ? classOf(worker) : worker.node_ip;
    groups.set(title, [...(groups.get(title) ?? []), worker]);
  }
  return [...groups].map(([title, workers]) => ({ row: "anyGroup", cluster, title, workers }));
}

function classOf(worker: LiveWorker): string {
  const fallbacks = { actor: "Actors", task: "Tasks", driver: "Driver", idle: "Idle workers" };
  return worker.class_name === "" ? fallbacks[worker.kind] : worker.class_name;
}

function groupTexts(group: AnyGroupRow, grouping: Grouping): RowTexts {
  const title = plain(group.title);
  const paused = group.workers.filter((worker) => worker.paused).length;
  const size = count(group.workers.length, "worker");
  const description = dotted(size, paused > 0 ? `${paused} paused` : "");
  return {
    id: `anyGroup ${group.cluster} ${grouping} ${group.title}`,
    label: title,
    description,
    tooltip: lines(group.title, description),
    spoken: spokenText(`${grouping} ${title}`, description),
    icon: grouping === "class" ? "server-process" : "vm",
    context: ROWS.anyGroup,
    children: "collapsed",
  };
}

function anyWorkerTexts(worker: LiveWorker, grouping: Grouping): RowTexts {
  const name = plain(worker.name);
  const rank = worker.rank === null ? "" : `rank ${worker.rank}`;
  const running = worker.running === "" ? "" : plain(`runs ${worker.running}`);
  const state = worker.paused ? "paused" : plain(worker.state);
  const pid = worker.pid === 0 ? "" : `${worker.pid}`;
  const where = grouping === "class" ? plain(worker.node_ip) : plain(worker.class_name);
  return {
    // An actor that still waits for its worker has no worker id.
    id: `anyWorker ${worker.cluster} ${worker.worker_id || worker.actor_id}`,
    label: name,
    description: dotted(rank, state, running, where, pid && `pid ${pid}`),
    tooltip: lines(
      worker.name,
      worker.class_name,
      dotted(worker.kind, state, running),
      pid && `Node ${worker.node_ip}, pid ${pid}`,
      worker.worker_id && `Worker ${worker.worker_id}`,
      worker.actor_id === "" ? "" : `Actor ${worker.actor_id}`,
      `Job ${worker.job_id}`,
    ),
    spoken: spokenText(name, worker.kind, rank, state, running, where, pid && `process ${pid}`),
    icon: worker.paused ? "debug-pause" : ICONS[worker.kind],
    ...(worker.paused ? { color: "charts.orange" } : {}),
    context: worker.paused ? `${ROWS.anyWorker}.paused` : ROWS.anyWorker,
    children: "none",
  };
}
