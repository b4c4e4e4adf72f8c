/** What the view Clusters shows. */

import { clusterTexts, timeLeft } from "../../common/cluster_rows";
import { problemTexts } from "../../common/problem_rows";
import { dotted, lines, said, type RowTexts } from "../../common/row_texts";
import type { ClustersRow } from "../../common/rows";
import { count, plain } from "../../common/texts";
import { ROWS } from "../../contributions";
import type { Clusters, Job, JobHost } from "./messages";

/** The view's input: the lists, the addresses that are just being connected, and how old the lists are. */
export interface ClustersView {
  readonly clusters: Clusters;
  readonly connecting: ReadonlySet<string>;
  readonly age_s: number;
}

/** The clusters with their problems below them, jobs to connect, hosts of jobs, then what was seen besides. */
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
  const { label, where, nodes } = jobWords(job);
  const left = timeLeft(job.time_left_s, age_s);
  const state = connecting ? "connecting" : plain(job.sentence);
  return {
    id: `job ${job.address}`,
    label,
    description: dotted(`job ${plain(job.job)}`, where, nodes, state, left),
    tooltip: lines(
      job.name,
      `Job ${job.job}${job.host === "" ? "" : ` on ${job.host}`}`,
      nodes,
      job.sentence,
      left,
      connecting ? "" : "“+” connects to the Ray in it",
    ),
    spoken: said(`job ${plain(job.job)}`, label, where, nodes, state, left),
    icon: connecting ? "loading~spin" : "server",
    context: connecting ? ROWS.job.connecting : ROWS.job.found,
    children: "none",
  };
}

/** How a job is called, here and where one is picked. */
export function jobWords(job: Job): { label: string; where: string; nodes: string } {
  return {
    label: plain(job.name) || `job ${plain(job.job)}`,
    where: job.host === "" ? "" : plain(job.host),
    nodes: job.nodes > 0 ? count(job.nodes, "node") : "",
  };
}

function jobHostTexts(host: JobHost): RowTexts {
  const name = plain(host.host);
  const words = host.state === "asking" ? "asking for your jobs" : "your jobs are looked for there";
  const sentence = plain(host.sentence, 500) || words;
  return {
    id: `jobHost ${host.host}`,
    label: name,
    description: sentence,
    tooltip: lines(`Your jobs are looked for on ${host.host}`, host.sentence),
    spoken: said(`jobs of host ${name}`, host.state, sentence),
    icon: { ok: "vm", asking: "loading~spin", failing: "warning" }[host.state],
    ...(host.state === "failing" ? { color: "list.warningForeground" } : {}),
    context: ROWS.jobHost,
    children: "none",
  };
}
