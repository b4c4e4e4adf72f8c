/** The texts about all paused workers in the title of the view Paused and in the status bar. */

import { l10n } from "vscode";

import { dotted, plain } from "../../common/texts";
import type { Clusters, StopCounts } from "../../clusters/messages";
import { clusterSentence, failingRoute } from "../../clusters/rows";
import { stopTexts } from "../../clusters/worker_counts";
import type { Snapshot } from "./messages";

/** The lists that are summed up. */
interface PausedLists {
  readonly snapshot: Snapshot;
  readonly clusters: Clusters;
}

/** "5 paused · 1 held · 1 debugging"; without any, "none of 9 workers". */
export function pausedSummary({ snapshot, clusters: { clusters } }: PausedLists): string {
  const counts = dotted(...stopTexts(snapshot.stops));
  const connected = clusters.filter(({ state }) => state === "connected");
  if (counts !== "" || connected.length === 0) {
    return counts;
  }
  const workers = connected.reduce((sum, cluster) => sum + Math.max(0, cluster.workers), 0);
  return workers === 1 ? l10n.t("none of 1 worker") : l10n.t("none of {0} workers", workers);
}

/** "5 paused · 1 held"; "" without any. */
export function waitingCounts({ paused, held }: StopCounts): string {
  return dotted(...stopTexts({ paused, held, debugging: 0 }));
}

/** The message above the list while the route to one of its clusters is failing; else "". */
export function routeTrouble({ snapshot, clusters }: PausedLists): string {
  const listed = new Set(snapshot.groups.map((group) => group.cluster));
  return clusters.clusters
    .filter((cluster) => listed.has(cluster.id) && failingRoute(cluster) !== undefined)
    .map((cluster) => `${plain(cluster.name)}: ${clusterSentence(cluster)}`)
    .join("\n");
}
