/** What the view Clusters shows. */

import { clusterTexts } from "../../common/cluster_rows";
import { problemTexts } from "../../common/problem_rows";
import type { RowTexts } from "../../common/row_texts";
import type { ClustersRow } from "../../common/rows";
import type { Clusters } from "./messages";

/** The clusters with their problems below them, then what was seen besides. */
export function clustersRows(clusters: Clusters, row?: ClustersRow): readonly ClustersRow[] {
  if (row === undefined) {
    return [
      ...clusters.clusters.map((cluster) => ({ row: "cluster" as const, cluster })),
      ...clusters.hints.map((problem) => ({ row: "problem" as const, cluster: "", problem })),
    ];
  }
  if (row.row === "problem") {
    return [];
  }
  const cluster = row.cluster.id;
  return row.cluster.problems.map((problem) => ({ row: "problem" as const, cluster, problem }));
}

export function clustersTexts(row: ClustersRow): RowTexts {
  return row.row === "problem" ? problemTexts(row) : clusterTexts(row.cluster);
}

/** Why what was typed in cannot be an address; the sidecar checks the rest. */
export function addressProblem(typed: string): string | undefined {
  const address = typed.trim();
  const looksRight =
    /^\d{1,5}$/.test(address) ||
    /^https?:\/\/[^\s/]+/.test(address) ||
    /^(\[[0-9a-fA-F:.]+\]|[^\s:/@]+):\d{1,5}$/.test(address);
  return looksRight ? undefined : "Write a port (8265), host:port, or an http(s):// address";
}
