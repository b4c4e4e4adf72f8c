/** The target of a picture: from the row of a view, or chosen from all that can be sampled. */

import { l10n } from "vscode";

import { dotted, duration, plain } from "../../common/texts";
import type { Row } from "../../rows";
import type { Cluster, Clusters, Job } from "../../clusters/messages";
import { clusterIdOf } from "../../rows";
import { jobLabels } from "../../clusters/tree_rows";
import type { Run } from "../../runs/messages";
import { isLive } from "../../runs/states";
import { runName } from "../../runs/worker_names";
import { usedRow, type PickRow } from "../../typed_picker";
import type { CandidateProcess, PictureTarget } from "./messages";

/** A target with the name that the user knows it by; a `job` has to be connected first. */
export interface NamedTarget {
  readonly name: string;
  readonly target: PictureTarget;
}

export type Sampled = NamedTarget | { readonly name: string; readonly job: Job };

/** The target of the first row that has one. */
export function targetOf(rows: readonly Row[], { clusters }: Clusters): Sampled | undefined {
  for (const row of rows) {
    if (row.row === "job") {
      return { name: jobLabels(row.job).label, job: row.job };
    }
    if ("run" in row) {
      return ofRun(row.run);
    }
    const id = clusterOf(row);
    if (id === "" && "workers" in row) {
      return ofProcesses(row.workers.map(({ pid }) => pid));
    }
    if (id !== undefined) {
      const name = plain(clusters.find((cluster) => cluster.id === id)?.name ?? id);
      const workers = groupOf(row);
      return workers === ""
        ? { name, target: { cluster: id } }
        : { name: dotted(plain(workers), name), target: { cluster: id, workers } };
    }
  }
  return undefined;
}

/** All that can be sampled now: clusters that are connected, then runs that have not ended. */
export function targetsOf({ clusters }: Clusters, runs: readonly Run[]): readonly NamedTarget[] {
  return [
    ...clusters.filter(({ state }) => state === "connected").map(ofCluster),
    ...runs.filter(isLive).map(ofRun),
  ];
}

export function ofCluster({ id, name }: Cluster): NamedTarget {
  return { name: plain(name), target: { cluster: id } };
}

export function ofProcesses(pids: readonly number[]): NamedTarget {
  return { name: l10n.t("PID {0}", pids.join(", ")), target: { pids } };
}

function ofRun(run: Run): NamedTarget {
  return { name: runName(run), target: { run_id: run.id } };
}

/** The cluster of a row of the views Paused and Clusters. */
function clusterOf(row: Row): string | undefined {
  switch (row.row) {
    case "group":
    case "node":
    case "anyGroup":
      return row.cluster;
    case "worker":
    case "anyWorker":
      return row.worker.cluster;
    default:
      return clusterIdOf(row);
  }
}

/** The title of a group of workers that do the same; "" for any other row. */
function groupOf(row: Row): string {
  return row.row === "group" || (row.row === "anyGroup" && row.kind === "class") ? row.title : "";
}

/** A row for each process: "4711 · 12 m" and its command. */
export function processRows(
  processes: readonly CandidateProcess[],
): readonly PickRow<NamedTarget>[] {
  return processes.map(({ pid, command, age_s }) => ({
    label: String(pid),
    description: duration(age_s),
    detail: plain(command, 200),
    value: ofProcesses([pid]),
  }));
}

/** PIDs as they are pasted. */
export function understoodPids(text: string): Promise<PickRow<NamedTarget> | undefined> {
  const pids = parsedPids(text);
  const named = pids === undefined ? undefined : ofProcesses(pids);
  const label = l10n.t("Use {0}", named?.name ?? "");
  const description = l10n.t("Their ranks and children are included.");
  return Promise.resolve(named && usedRow(label, description, named));
}

/** The PIDs of a text such as "4711 4712"; undefined for a text that has others, or none. */
export function parsedPids(text: string): readonly number[] | undefined {
  const parts = text.split(/[\s,]+/).filter((part) => part !== "");
  return parts.length > 0 && parts.every((part) => /^[1-9]\d{0,8}$/.test(part))
    ? parts.map(Number)
    : undefined;
}
