/** The rows of the view Clusters, and the texts of a cluster in every view. */

import type { EaglerayError } from "../../common/errors";
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
import type { Row } from "../../panel";
import type { Cluster, ClusterProblem, ClusterRoute, Clusters, Job, JobHost } from "./messages";

/** The view's input: the lists, the addresses that are just being connected, and how old the lists are. */
export interface ClustersView {
  readonly clusters: Clusters;
  readonly connecting: ReadonlySet<string>;
  readonly age_s: number;
}

/** The clusters with their problems below them, jobs to connect, hosts of jobs, then hints. */
export function clustersRows(
  { clusters, connecting }: ClustersView,
  row?: ClustersRow,
): readonly ClustersRow[] {
  if (row === undefined) {
    return [
      ...clusters.clusters.map((cluster) => ({ row: "cluster" as const, cluster })),
      ...clusters.jobs.map((job) => ({
        row: "job" as const,
        job,
        connecting: connecting.has(job.address),
      })),
      ...clusters.hosts.map((host) => ({ row: "jobHost" as const, host })),
      ...clusters.hints.map((problem) => ({ row: "problem" as const, cluster: "", problem })),
    ];
  }
  if (row.row !== "cluster") {
    return [];
  }
  const cluster = row.cluster.id;
  return row.cluster.problems.map((problem) => ({ row: "problem" as const, cluster, problem }));
}

export function clustersTexts({ age_s }: ClustersView, row: ClustersRow): RowTexts {
  switch (row.row) {
    case "cluster":
      return clusterTexts(row.cluster, age_s);
    case "job":
      return jobTexts(row.job, row.connecting, age_s);
    case "jobHost":
      return jobHostTexts(row.host);
    case "problem":
      return problemTexts(row);
  }
}

function jobTexts(job: Job, connecting: boolean, age_s: number): RowTexts {
  const { label, where, nodes } = jobLabels(job);
  const { job: listed, host } = job.status;
  const left = timeLeft(job.time_left_s, age_s);
  const state = connecting ? "connecting" : plain(job.sentence);
  return {
    id: `job ${job.address}`,
    label,
    description: dotted(`job ${plain(listed.id)}`, where, nodes, state, left),
    tooltip: lines(
      listed.name,
      `Job ${listed.id}${host === "" ? "" : ` on ${host}`}`,
      nodes,
      job.sentence,
      left,
      connecting ? "" : "“+” connects to the Ray in it",
    ),
    spoken: spokenText(`job ${plain(listed.id)}`, label, where, nodes, state, left),
    icon: connecting ? "loading~spin" : "server",
    context: connecting ? ROWS.job.connecting : ROWS.job.found,
    children: "none",
  };
}

/** The texts of a job, in its row and in pick lists. */
export function jobLabels({ status }: Job): { label: string; where: string; nodes: string } {
  const { job, host } = status;
  return {
    label: plain(job.name) || `job ${plain(job.id)}`,
    where: host === "" ? "" : plain(host),
    nodes: job.node_count > 0 ? count(job.node_count, "node") : "",
  };
}

function jobHostTexts(host: JobHost): RowTexts {
  const name = plain(host.host);
  const activity =
    host.state === "asking" ? "asking for your jobs" : "your jobs are looked for there";
  const sentence = plain(host.sentence, 500) || activity;
  return {
    id: `jobHost ${host.host}`,
    label: name,
    description: sentence,
    tooltip: lines(`Your jobs are looked for on ${host.host}`, host.sentence),
    spoken: spokenText(`jobs of host ${name}`, host.state, sentence),
    icon: { ok: "vm", asking: "loading~spin", failing: "warning" }[host.state],
    ...(host.state === "failing" ? { color: "list.warningForeground" } : {}),
    context: ROWS.jobHost,
    children: "none",
  };
}

export interface ClusterRow {
  readonly row: "cluster";
  readonly cluster: Cluster;
}

/** A running job that holds a Ray which is not connected yet; `connecting`: it is just being done. */
interface JobRow {
  readonly row: "job";
  readonly job: Job;
  readonly connecting: boolean;
}

/** An ssh host whose SLURM jobs are listed. */
interface JobHostRow {
  readonly row: "jobHost";
  readonly host: JobHost;
}

/** A problem; `cluster` is "" for one that belongs to none. */
export interface ProblemRow {
  readonly row: "problem";
  readonly cluster: string;
  readonly problem: ClusterProblem;
}

/** The cluster of a cluster's row, in any view. */
export function clusterIdOf(row: Row | undefined): string | undefined {
  return row?.row === "cluster" || row?.row === "empty" ? row.cluster.id : undefined;
}

export type ClustersRow = ClusterRow | JobRow | JobHostRow | ProblemRow;

interface ClusterIcon {
  readonly icon: string;
  readonly color?: string;
  readonly word: string;
}

const CLUSTER_ICONS: Readonly<Record<Cluster["state"], ClusterIcon>> = {
  connecting: { icon: "loading~spin", word: "connecting" },
  connected: { icon: "server-environment", color: "charts.green", word: "connected" },
  unreachable: { icon: "debug-disconnect", color: "list.errorForeground", word: "unreachable" },
  unauthorized: { icon: "key", color: "list.warningForeground", word: "not let in" },
  "not-ray": { icon: "question", color: "list.errorForeground", word: "not Ray" },
  failing: { icon: "warning", color: "list.warningForeground", word: "failing" },
};

const ROUTE_ICONS: Readonly<Record<ClusterRoute["state"], ClusterIcon | undefined>> = {
  // With a ready route the row shows the state of the cluster.
  ready: undefined,
  connecting: { icon: "loading~spin", word: "connecting" },
  degraded: { icon: "warning", color: "list.warningForeground", word: "no answer" },
  lost: { icon: "debug-disconnect", color: "list.errorForeground", word: "connection lost" },
  reconnecting: {
    icon: "loading~spin",
    color: "list.warningForeground",
    word: "reconnecting",
  },
};

/** `age_s` is the age of the cluster's data. */
export function clusterTexts(cluster: Cluster, age_s = 0): RowTexts {
  const { route } = cluster;
  const icon = iconOf(cluster);
  const name = plain(cluster.name);
  const sentence = clusterSentence(cluster);
  const via = viaOf(route);
  const left = timeLeft(cluster.time_left_s, age_s);
  return {
    id: `cluster ${cluster.id}`,
    label: name,
    description: dotted(sentence, via, left),
    tooltip: lines(
      cluster.name,
      cluster.id === cluster.name ? "" : cluster.id,
      cluster.sentence,
      ...routeLines(route),
      left === "" ? "" : `The time of its job: ${left}`,
    ),
    spoken: spokenText(`cluster ${name}`, icon.word, sentence, via, left),
    icon: icon.icon,
    ...(icon.color === undefined ? {} : { color: icon.color }),
    context: clusterContext(cluster),
    children: cluster.problems.length > 0 ? "expanded" : "none",
  };
}

/** The state of the route where that is failing, else the state of the cluster. */
export function clusterSentence(cluster: Cluster): string {
  const sentence = failingRoute(cluster)?.sentence ?? cluster.sentence;
  return sentence === "" ? iconOf(cluster).word : plain(sentence);
}

/** The route of a cluster, where that isn't ready. */
export function failingRoute({ route }: Cluster): ClusterRoute | undefined {
  return route !== null && route.state !== "ready" ? route : undefined;
}

/** The context value of its row, in every view. */
export function clusterContext(cluster: Cluster): string {
  return ROWS.cluster[cluster.origin] + (hasOwnRoute(cluster) ? ROWS.routed : "");
}

/** Whether Eagleray holds a connection to it that can be lost and reconnected. */
export function hasOwnRoute({ route }: Cluster): boolean {
  return route !== null && route.kind !== "direct";
}

/** "1 h 20 min left"; "" for what has no end. */
export function timeLeft(time_left_s: number | null, age_s: number): string {
  if (time_left_s === null) {
    return "";
  }
  const left = time_left_s - age_s;
  return left > 0 ? `${duration(Math.round(left))} left` : "its time is up";
}

function iconOf({ state, route }: Cluster): ClusterIcon {
  return (route === null ? undefined : ROUTE_ICONS[route.state]) ?? CLUSTER_ICONS[state];
}

function viaOf(route: ClusterRoute | null): string {
  return route === null || route.via === "" ? "" : plain(`through ${route.via}`);
}

function routeLines(route: ClusterRoute | null): string[] {
  if (route === null || route.kind === "direct") {
    return [];
  }
  return [
    `Through ${route.via}: ${route.state}`,
    route.sentence,
    ...(route.message === "" ? [] : ["The last it said:", ...route.message.split(/\r?\n/)]),
  ];
}

/** The problem that a failed request is shown as. */
export function problemOf({ code, message, nextStep }: EaglerayError): ClusterProblem {
  return { code, message, next_step: nextStep, retries: false };
}

export function problemTexts({ cluster, problem }: ProblemRow): RowTexts {
  const message = plain(problem.message, 500);
  const nextStep = plain(problem.next_step, 500);
  return {
    id: `problem ${cluster} ${problem.code} ${message}`,
    label: message,
    description: nextStep,
    tooltip: lines(problem.message, problem.next_step),
    spoken: spokenText(message, nextStep),
    icon: "warning",
    color: "list.warningForeground",
    context: ROWS.problem,
    children: "none",
  };
}
