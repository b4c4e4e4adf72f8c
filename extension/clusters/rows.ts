/** The row types of the view Clusters, and the texts of clusters and problems in every view. */

import { l10n } from "vscode";

import { isSshError, type EaglerayError } from "../common/errors";
import { lines, plain, spokenText, type RowTexts } from "../common/texts";
import { COLORS, ROWS } from "../contributions";
import type { Cluster, ClusterProblem, ClusterRoute, Job, JobHost } from "./messages";

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

/** A login node whose SLURM jobs are listed, with those that hold a Ray; above them why the list isn't current. */
export interface JobHostRow {
  readonly row: "jobHost";
  readonly host: JobHost;
  readonly jobs: readonly JobRow[];
}

/** A problem; `cluster` is "" for one that belongs to none. */
export interface ProblemRow {
  readonly row: "problem";
  readonly cluster: string;
  readonly problem: ClusterProblem;
}

export type ClustersRow = ClusterRow | JobRow | JobHostRow | ProblemRow;

interface ClusterIcon {
  readonly icon: string;
  readonly color?: string;
  readonly word: string;
}

const CLUSTER_ICONS: Readonly<Record<Cluster["state"], ClusterIcon>> = {
  connecting: { icon: "loading~spin", word: l10n.t("connecting…") },
  connected: { icon: "server-environment", color: COLORS.running, word: l10n.t("connected") },
  unreachable: {
    icon: "debug-disconnect",
    color: "list.errorForeground",
    word: l10n.t("not responding"),
  },
  unauthorized: { icon: "key", color: "list.warningForeground", word: l10n.t("sign-in required") },
  "not-ray": {
    icon: "question",
    color: "list.errorForeground",
    word: l10n.t("not a Ray dashboard"),
  },
  failing: { icon: "warning", color: "list.warningForeground", word: l10n.t("dashboard error") },
};

export const ROUTE_ICONS: Readonly<Record<ClusterRoute["state"], ClusterIcon | undefined>> = {
  // With a ready route the row shows the state of the cluster.
  ready: undefined,
  connecting: { icon: "loading~spin", word: l10n.t("connecting…") },
  degraded: { icon: "warning", color: "list.warningForeground", word: l10n.t("not responding") },
  lost: {
    icon: "debug-disconnect",
    color: "list.errorForeground",
    word: l10n.t("connection lost"),
  },
  reconnecting: {
    icon: "loading~spin",
    color: "list.warningForeground",
    word: l10n.t("reconnecting…"),
  },
};

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

/** The state of a cluster in a word or two. */
export function clusterWord(state: Cluster["state"]): string {
  return CLUSTER_ICONS[state].word;
}

export function iconOf({ state, route }: Cluster): ClusterIcon {
  return (route === null ? undefined : ROUTE_ICONS[route.state]) ?? CLUSTER_ICONS[state];
}

/** The problem that a failed request is shown as. */
export function problemOf({ code, message, nextStep, output }: EaglerayError): ClusterProblem {
  return { code, message, next_step: nextStep, retries: false, output };
}

/** A problem in a few words; one that isn't listed has its message. */
const PROBLEM_TITLES: Readonly<Record<string, string>> = {
  "cluster-unreachable": l10n.t("Not responding"),
  "cluster-slow": l10n.t("Not responding"),
  "port-refused": l10n.t("Not responding"),
  "far-port-refused": l10n.t("Not responding"),
  "port-silent": l10n.t("Not responding"),
  "link-lost": l10n.t("Connection lost"),
  "token-needed": l10n.t("Token required"),
  "token-refused": l10n.t("Token rejected"),
  "token-expired": l10n.t("Token expired"),
  "proxy-refused": l10n.t("Proxy denied access"),
  "ca-needed": l10n.t("Certificate not trusted"),
  "certificate-refused": l10n.t("Certificate rejected"),
  "bad-ca-file": l10n.t("Certificate file not valid"),
  "bad-access-file": l10n.t("access.json not valid"),
  "not-ray": l10n.t("Not a Ray dashboard"),
  redirected: l10n.t("Redirected elsewhere"),
  "stranger-listens": l10n.t("Port of another user"),
  "headers-kept-back": l10n.t("Headers not sent"),
  "job-over": l10n.t("Job has ended"),
  "job-waits": l10n.t("Job is pending"),
  "no-ray-in-job": l10n.t("No Ray dashboard in this job"),
  "slurm-failed": l10n.t("Can't reach SLURM"),
  "no-slurm": l10n.t("SLURM not installed"),
  "bridge-needs-click": l10n.t("Reconnect to start a job step"),
  "dashboard-busy": l10n.t("Dashboard busy"),
  "dashboard-failed": l10n.t("Dashboard error"),
  "answer-too-large": l10n.t("Response too large"),
  "no-debugpy": l10n.t("debugpy missing"),
  "legacy-debugger": l10n.t("Ray pdb enabled, not debugpy"),
  "protobuf-breaks-api": l10n.t("Incompatible protobuf"),
  "not-owner": l10n.t("Port 8265 of another user"),
  "no-ray-default": l10n.t("Ray without a dashboard"),
  "no-dashboard": l10n.t("Dashboard switched off"),
  "bad-variable": l10n.t("Address in environment not valid"),
};

/** Which command fixes a problem, as a part of its context value. */
const FIXES: Readonly<Record<string, keyof typeof ROWS.fix>> = {
  "token-needed": "token",
  "token-refused": "token",
  "token-expired": "token",
  "proxy-refused": "headers",
  "ca-needed": "certificates",
  "certificate-refused": "certificates",
  "bad-ca-file": "certificates",
  "cluster-unreachable": "reconnect",
  "cluster-slow": "reconnect",
  "link-lost": "reconnect",
  "bridge-needs-click": "reconnect",
};

/** Which log has what a program printed: the buttons that a message about this problem has, too. */
function logContext({ code, output }: ClusterProblem): string {
  return output === "" ? "" : isSshError(code) ? ROWS.sshLog : ROWS.log;
}

export function problemTexts({ cluster, problem }: ProblemRow): RowTexts {
  const message = plain(problem.message, 500);
  const title = PROBLEM_TITLES[problem.code] ?? message;
  const fix = cluster === "" ? undefined : FIXES[problem.code];
  return {
    id: `problem ${cluster} ${problem.code} ${message}`,
    label: title,
    description: "",
    tooltip: lines(problem.message, problem.next_step),
    spoken: spokenText(title === message ? "" : title, message, plain(problem.next_step, 500)),
    icon: "warning",
    color: "list.warningForeground",
    context: ROWS.problem + (fix === undefined ? "" : ROWS.fix[fix]) + logContext(problem),
    children: "none",
  };
}
