/** The item in the status bar, and the context keys that follow the state of the sidecar. */

import * as vscode from "vscode";

import { Disposables, type Disposable } from "./common/disposables";
import { count, plain } from "./common/texts";
import { COMMANDS, type CommandId } from "./contributions";
import type { Clusters } from "./features/clusters/messages";
import { clusterSentence } from "./features/clusters/rows";
import type { Snapshot } from "./features/workers/messages";
import type { App } from "./app";
import { setContextKey } from "./settings";
import type { SidecarState } from "./sidecar/sidecar";

const CLICKS: Readonly<Record<Status["click"], CommandId>> = {
  panel: COMMANDS.showPanel,
  logs: COMMANDS.showLog,
  python: COMMANDS.selectPython,
};

const BACKGROUNDS: Readonly<Record<Status["severity"], vscode.ThemeColor | undefined>> = {
  none: undefined,
  warning: new vscode.ThemeColor("statusBarItem.warningBackground"),
  error: new vscode.ThemeColor("statusBarItem.errorBackground"),
};

export function statusBar(app: App): Disposable {
  const owned = new Disposables();
  const item = owned.add(
    vscode.window.createStatusBarItem("eagleray.status", vscode.StatusBarAlignment.Left, 10),
  );
  item.name = "Eagleray";
  const show = (): void => {
    const status = statusOf(app.sidecar.state.value, app.clusters.value, app.paused.value);
    item.text = status.text;
    item.tooltip = status.tooltip;
    item.accessibilityInformation = { label: status.tooltip, role: "button" };
    item.backgroundColor = BACKGROUNDS[status.severity];
    item.command = CLICKS[status.click];
    setContextKey("eagleray.sidecar", app.sidecar.state.value);
    const { paused, held } = app.paused.value;
    setContextKey("eagleray.hasPaused", paused + held > 0);
    const { clusters } = app.clusters.value;
    setContextKey(
      "eagleray.connected",
      clusters.some(({ state }) => state === "connected"),
    );
    setContextKey("eagleray.hasJobs", app.clusters.value.jobs.length > 0);
  };
  owned.add(app.sidecar.state.onChanged(show));
  owned.add(app.clusters.onChanged(show));
  owned.add(app.paused.onChanged(show));
  show();
  item.show();
  return owned;
}

interface Status {
  /** May contain icons, so it holds no text that came from a cluster. */
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
