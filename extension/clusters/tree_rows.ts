/** The rows of the view Clusters without workers: clusters, jobs and login nodes; read when that is first visible. */

import { l10n } from "vscode";

import { dotted, duration, lines, plain, spokenText, type RowTexts } from "../common/texts";
import { ROWS } from "../contributions";
import type { Cluster, ClusterRoute, Clusters, Job, JobHost } from "./messages";
import {
  clusterContext,
  clusterSentence,
  failingRoute,
  iconOf,
  problemTexts,
  ROUTE_ICONS,
  type ClustersRow,
  type JobHostRow,
} from "./rows";
import { stopTexts, workersText } from "./worker_counts";

/** The lists, the addresses that are just being connected, how old the lists are, and the names of runs by their ids. */
export interface ClustersView {
  readonly clusters: Clusters;
  readonly connecting: ReadonlySet<string>;
  readonly age_s: number;
  readonly runs: ReadonlyMap<string, string>;
}

/** Clusters, jobs of this machine, login nodes with their jobs, then hints. */
export function clustersRows({ clusters, connecting }: ClustersView): readonly ClustersRow[] {
  const jobs = clusters.jobs.map((job) => ({
    row: "job" as const,
    job,
    connecting: connecting.has(job.address),
  }));
  const hosts = clusters.hosts.map((host) => ({
    row: "jobHost" as const,
    host,
    jobs: jobs.filter(({ job }) => job.status.host === host.host),
  }));
  const below = new Set(hosts.flatMap((host) => host.jobs));
  return [
    ...clusters.clusters.map((cluster) => ({ row: "cluster" as const, cluster })),
    ...jobs.filter((job) => !below.has(job)),
    ...hosts,
    ...clusters.hints.map((problem) => ({ row: "problem" as const, cluster: "", problem })),
  ];
}

export function clustersTexts(view: ClustersView, row: ClustersRow): RowTexts {
  switch (row.row) {
    case "cluster":
      return clusterTexts(row.cluster, view.age_s, view.runs.get(row.cluster.run));
    case "job":
      return jobTexts(row.job, row.connecting, view.age_s);
    case "jobHost":
      return jobHostTexts(row);
    case "problem":
      return problemTexts(row);
  }
}

function jobTexts(job: Job, connecting: boolean, age_s: number): RowTexts {
  const { label, where, nodes } = jobLabels(job);
  const { job: listed, host } = job.status;
  const id = jobText(job);
  const left = timeLeft(job.time_left_s, age_s);
  const state = connecting ? l10n.t("connecting…") : plain(job.sentence);
  return {
    id: `job ${job.address}`,
    label,
    description: dotted(connecting ? state : "", label === id ? "" : id, nodes, left),
    tooltip: lines(
      listed.name,
      host === "" ? l10n.t("Job {0}", listed.id) : l10n.t("Job {0} on {1}", listed.id, host),
      nodes,
      job.sentence,
      left,
      connecting ? "" : l10n.t("Connect to see its workers."),
    ),
    spoken: spokenText(id, label, where, nodes, state, left),
    icon: connecting ? "loading~spin" : "server",
    context: connecting ? ROWS.job.connecting : ROWS.job.found,
    children: "none",
  };
}

/** The texts of a job, in its row and in pick lists. */
export function jobLabels({ status }: Job): { label: string; where: string; nodes: string } {
  const { job, host } = status;
  return {
    label: plain(job.name) || l10n.t("job {0}", plain(job.id)),
    where: host === "" ? "" : plain(host),
    nodes: job.node_count > 0 ? nodesText(job.node_count) : "",
  };
}

export function jobText({ status }: Job): string {
  return l10n.t("job {0}", plain(status.job.id));
}

function nodesText(nodes: number): string {
  return nodes === 1 ? l10n.t("1 node") : l10n.t("{0} nodes", nodes);
}

const HOST_STATES: Readonly<Record<JobHost["state"], readonly [icon: string, text: string]>> = {
  ok: ["vm", l10n.t("watching for your SLURM jobs")],
  asking: ["loading~spin", l10n.t("searching for your SLURM jobs…")],
  failing: ["warning", l10n.t("can't reach SLURM")],
};

function rayJobsText(jobs: number): string {
  return jobs === 1 ? l10n.t("1 Ray job") : l10n.t("{0} Ray jobs", jobs);
}

function jobHostTexts({ host, jobs }: JobHostRow): RowTexts {
  const name = plain(host.host);
  const [icon, activity] = HOST_STATES[host.state];
  const text = host.state === "ok" && jobs.length > 0 ? rayJobsText(jobs.length) : activity;
  const hasRows = jobs.length > 0 || host.problem !== null;
  return {
    // VS Code leaves a row folded that had nothing below it before, so with rows it is another row
    // (microsoft/vscode#183360).
    id: `jobHost ${host.host}${hasRows ? "+" : ""}`,
    label: name,
    description: text,
    tooltip: lines(l10n.t("SLURM login node {0}", host.host), text),
    spoken: spokenText(l10n.t("SLURM login node {0}", name), text),
    icon,
    ...(host.state === "failing" ? { color: "list.warningForeground" } : {}),
    context: ROWS.jobHost,
    children: hasRows ? "expanded" : "none",
  };
}

/** `age_s` is the age of the cluster's data, `startedBy` the name of the run that has started it. */
export function clusterTexts(cluster: Cluster, age_s = 0, startedBy = ""): RowTexts {
  const { route } = cluster;
  const icon = iconOf(cluster);
  const name = plain(cluster.name);
  const state = stateText(cluster);
  const via = viaOf(route);
  const left = timeLeft(cluster.time_left_s, age_s);
  const starter = startedBy === "" ? "" : plain(l10n.t("started by {0}", startedBy));
  return {
    id: `cluster ${cluster.id}`,
    label: name,
    description: dotted(state, left, starter, via),
    tooltip: lines(
      cluster.name,
      cluster.id === cluster.name ? "" : cluster.id,
      cluster.sentence,
      starter,
      ...routeLines(route),
      left === "" ? "" : l10n.t("Time limit of its job: {0}", left),
      cluster.time_warning,
    ),
    spoken: spokenText(
      l10n.t("cluster {0}", name),
      icon.word,
      clusterSentence(cluster),
      left,
      plain(cluster.time_warning),
      starter,
      via,
    ),
    icon: icon.icon,
    ...(icon.color === undefined ? {} : { color: icon.color }),
    context: clusterContext(cluster),
    children: childrenOf(cluster),
  };
}

/** The most important comes first: the paused workers of a connected cluster, the state of another one. */
function stateText(cluster: Cluster): string {
  const { state, stops, workers, run, is_pending: isPending } = cluster;
  if (failingRoute(cluster) === undefined && state === "connected") {
    // Which run it belongs to says more than how many workers that has.
    const isCounted = workers >= 0 && run === "";
    return dotted(...stopTexts(stops), isCounted ? workersText(workers) : "");
  }
  return isPending ? l10n.t("pending") : iconOf(cluster).word;
}

/** Problems are visible at once, workers when the user asks for them. */
function childrenOf({ problems, state }: Cluster): RowTexts["children"] {
  if (problems.length > 0) {
    return "expanded";
  }
  return state === "connected" ? "collapsed" : "none";
}

/** "1 h 20 m left"; "" for what has no end. */
export function timeLeft(time_left_s: number | null, age_s: number): string {
  if (time_left_s === null) {
    return "";
  }
  const left = time_left_s - age_s;
  return left > 0
    ? l10n.t("{0} left", duration(Math.round(left)))
    : l10n.t("reached its time limit");
}

function viaOf(route: ClusterRoute | null): string {
  return route === null || route.via === "" ? "" : plain(l10n.t("through {0}", route.via));
}

function routeLines(route: ClusterRoute | null): string[] {
  if (route === null || route.kind === "direct") {
    return [];
  }
  return [
    l10n.t("Through {0}: {1}", route.via, ROUTE_ICONS[route.state]?.word ?? l10n.t("connected")),
    route.sentence,
  ];
}
