/** What the status bar says, as a value. */

import type { Clusters } from "./features/clusters/messages";
import type { Snapshot } from "./features/workers/messages";
import { clusterSentence } from "./features/clusters/model";
import { count, plain } from "./common/texts";
import type { SidecarState } from "./sidecar/sidecar";

export interface Status {
  /** With icons: nothing of a cluster may stand in it. */
  readonly text: string;
  readonly tooltip: string;
  readonly severity: "none" | "warning" | "error";
  readonly click: "panel" | "logs" | "python";
}

const OF_SIDECAR: Readonly<Record<Exclude<SidecarState, "ready">, Status>> = {
  idle: {
    text: "$(debug-pause) Eagleray",
    tooltip: "Eagleray: open the panel",
    severity: "none",
    click: "panel",
  },
  starting: {
    text: "$(loading~spin) Eagleray",
    tooltip: "Eagleray is starting",
    severity: "none",
    click: "panel",
  },
  "no-python": {
    text: "$(warning) Eagleray: no Python",
    tooltip: "Eagleray found no Python 3.10 to 3.14; click to select one",
    severity: "error",
    click: "python",
  },
  failed: {
    text: "$(warning) Eagleray",
    tooltip:
      "Eagleray’s sidecar ended or did not start; it is tried again by itself. Click for the log",
    severity: "error",
    click: "logs",
  },
  unsupported: {
    text: "$(warning) Eagleray",
    tooltip: "Eagleray does not run on Windows itself; use Remote-SSH or WSL",
    severity: "warning",
    click: "logs",
  },
};

export function statusOf(state: SidecarState, clusters: Clusters, paused: Snapshot): Status {
  if (state !== "ready") {
    return OF_SIDECAR[state];
  }
  const waiting = [
    ...(paused.paused > 0 ? [`${paused.paused} paused`] : []),
    ...(paused.held > 0 ? [`${paused.held} held`] : []),
  ].join(", ");
  return {
    text: `$(debug-pause) ${waiting === "" ? "Eagleray" : waiting}`,
    tooltip: tooltip(clusters),
    severity: waiting === "" ? "none" : "warning",
    click: "panel",
  };
}

function tooltip({ clusters }: Clusters): string {
  if (clusters.length === 0) {
    return "Eagleray: no Ray cluster";
  }
  const lines = clusters.map((cluster) => `${plain(cluster.name)}: ${clusterSentence(cluster)}`);
  return [`Eagleray: ${count(clusters.length, "cluster")}`, ...lines].join("\n");
}
