/** What the title of the view Paused and the status bar say of all paused workers. */

import { l10n } from "vscode";

import { dotted, plain } from "../../common/texts";
import type { Clusters } from "../clusters/messages";
import { clusterSentence, failingRoute } from "../clusters/rows";
import type { Snapshot } from "./messages";

/** The lists that are summed up. */
interface PausedLists {
  readonly snapshot: Snapshot;
  readonly clusters: Clusters;
}

/** "6 paused", "5 paused · 1 held"; without any, "9 workers on 127.0.0.1:8265". */
export function pausedSummary({ snapshot, clusters: { clusters } }: PausedLists): string {
  const counts = waitingCounts(snapshot);
  if (counts !== "") {
    return counts;
  }
  const connected = clusters.filter(({ state }) => state === "connected");
  const workers = connected.reduce((sum, cluster) => sum + Math.max(0, cluster.workers), 0);
  const [only] = connected;
  if (only === undefined) {
    return "";
  }
  const where =
    connected.length === 1 ? plain(only.name) : l10n.t("{0} clusters", connected.length);
  return workers === 1
    ? l10n.t("1 worker on {0}", where)
    : l10n.t("{0} workers on {1}", workers, where);
}

/** "5 paused · 1 held"; "" without any. */
export function waitingCounts({ paused, held }: Pick<Snapshot, "paused" | "held">): string {
  return dotted(
    paused > 0 ? l10n.t("{0} paused", paused) : "",
    held > 0 ? l10n.t("{0} held", held) : "",
  );
}

/** The message above the list while the route to one of its clusters is failing; else "". */
export function routeTrouble({ snapshot, clusters }: PausedLists): string {
  const listed = new Set(snapshot.groups.map((group) => group.cluster));
  return clusters.clusters
    .filter((cluster) => listed.has(cluster.id) && failingRoute(cluster) !== undefined)
    .map((cluster) => `${plain(cluster.name)}: ${clusterSentence(cluster)}`)
    .join("\n");
}
