/** The item in the status bar, and the context keys that follow the state of the sidecar. */

import * as vscode from "vscode";
import { l10n } from "vscode";

import { Disposables, type Disposable } from "./common/disposables";
import type { Readable } from "./common/store";
import { dotted, plain } from "./common/texts";
import { COMMANDS, type CommandId } from "./contributions";
import type { Clusters } from "./clusters/messages";
import { clusterSentence } from "./clusters/rows";
import { runningOf, type DebuggedWorker } from "./debug/attaching/model";
import type { Snapshot } from "./debug/workers/messages";
import { isLive } from "./runs/states";
import { waitingCounts } from "./debug/workers/paused_summary";
import type { App } from "./app";
import { setContextKey } from "./settings";
import type { SidecarState } from "./sidecar/sidecar";

const CLICKS: Readonly<Record<Status["click"], CommandId>> = {
  panel: COMMANDS.showPanel,
  workers: COMMANDS.showPausedWorkers,
  logs: COMMANDS.showLog,
  python: COMMANDS.selectPython,
};

const BACKGROUNDS: Readonly<Record<Status["severity"], vscode.ThemeColor | undefined>> = {
  none: undefined,
  warning: new vscode.ThemeColor("statusBarItem.warningBackground"),
  error: new vscode.ThemeColor("statusBarItem.errorBackground"),
};

export function statusBar(app: App, inFront: Readable<DebuggedWorker | undefined>): Disposable {
  const owned = new Disposables();
  const item = owned.add(
    vscode.window.createStatusBarItem("eagleray.status", vscode.StatusBarAlignment.Left, 10),
  );
  item.name = "Eagleray";
  const show = (): void => {
    const status = statusOf({
      state: app.sidecar.state.value,
      clusters: app.clusters.value,
      paused: app.paused.value,
      hasRuns: app.runs.value.runs.length > 0,
      inFront: inFront.value,
    });
    item.text = status.text;
    item.tooltip = status.tooltip;
    item.accessibilityInformation = { label: status.tooltip, role: "button" };
    item.backgroundColor = BACKGROUNDS[status.severity];
    item.command = CLICKS[status.click];
    if (status.text === "") {
      item.hide();
    } else {
      item.show();
    }
    setContextKey("eagleray.sidecar", app.sidecar.state.value);
    const { paused, held } = app.paused.value.stops;
    setContextKey("eagleray.hasPaused", paused + held > 0);
    setContextKey("eagleray.hasListed", app.paused.value.groups.length > 0);
    const { clusters } = app.clusters.value;
    setContextKey("eagleray.hasClusters", clusters.length > 0);
    setContextKey(
      "eagleray.connected",
      clusters.some(({ state }) => state === "connected"),
    );
    setContextKey("eagleray.hasRuns", app.runs.value.runs.length > 0);
    setContextKey("eagleray.hasLiveRuns", app.runs.value.runs.some(isLive));
    setContextKey("eagleray.hasServers", app.addedServers.value.length > 0);
    setContextKey("eagleray.hasJobs", app.clusters.value.jobs.length > 0);
  };
  owned.add(app.sidecar.state.onChanged(show));
  owned.add(app.clusters.onChanged(show));
  owned.add(app.paused.onChanged(show));
  owned.add(app.runs.onChanged(show));
  owned.add(app.addedServers.onChanged(show));
  owned.add(inFront.onChanged(show));
  show();
  return owned;
}

interface Status {
  /** May contain icons, so text that came from a cluster is plain in it; "" hides the item. */
  readonly text: string;
  readonly tooltip: string;
  readonly severity: "none" | "warning" | "error";
  readonly click: "panel" | "workers" | "logs" | "python";
}

/** The content of the item. */
export interface StatusInput {
  readonly state: SidecarState;
  readonly clusters: Clusters;
  readonly paused: Snapshot;
  readonly hasRuns: boolean;
  /** The worker whose session is in front. */
  readonly inFront: DebuggedWorker | undefined;
}

function ofSidecar(state: Exclude<SidecarState, "ready">): Status {
  switch (state) {
    case "idle":
      // Nothing in this workspace or on this machine uses Ray.
      return { text: "", tooltip: "", severity: "none", click: "panel" };
    case "starting":
      return {
        text: "$(loading~spin) Eagleray",
        tooltip: l10n.t("Starting Eagleray…"),
        severity: "none",
        click: "panel",
      };
    case "no-python":
      return {
        text: `$(warning) ${l10n.t("Eagleray: no Python")}`,
        tooltip: l10n.t("Eagleray needs Python 3.10–3.14. Click to select one."),
        severity: "error",
        click: "python",
      };
    case "failed":
      return {
        text: "$(warning) Eagleray",
        tooltip: l10n.t("Eagleray’s background service stopped. Retrying. Click for the log."),
        severity: "error",
        click: "logs",
      };
    case "unsupported":
      return {
        text: "$(warning) Eagleray",
        tooltip: l10n.t("Eagleray runs on Linux. Connect with Remote-SSH or WSL."),
        severity: "warning",
        click: "logs",
      };
  }
}

/**
 * 1. The state of the sidecar, unless it is ready.
 * 2. The worker in front, whether it runs, and how many others wait.
 * 3. How many wait, marked, since a paused worker blocks its job.
 * 4. Without any, an icon in a workspace that uses Ray.
 */
export function statusOf({ state, clusters, paused, hasRuns, inFront }: StatusInput): Status {
  if (state !== "ready") {
    return ofSidecar(state);
  }
  const counts = waitingCounts(paused.stops);
  const details = tooltip(clusters);
  if (inFront !== undefined) {
    const name = plain(inFront.name);
    if (inFront.isInspected === true) {
      return {
        text: `$(eye) ${dotted(name, l10n.t("running"))}`,
        tooltip: `${l10n.t("{0}: it keeps running. Click to switch workers.", name)}\n${details}`,
        severity: "none",
        click: "workers",
      };
    }
    const isRunning = runningOf([inFront], paused).length > 0;
    const text = dotted(name, isRunning ? l10n.t("running") : "", othersText(paused));
    const sentence = isRunning
      ? l10n.t("{0} runs until its next breakpoint. Click to switch workers or detach.", name)
      : l10n.t("Debugging {0}. Click to switch workers.", text);
    return {
      text: `$(debug-alt) ${text}`,
      tooltip: `${sentence}\n${details}`,
      severity: "none",
      click: "workers",
    };
  }
  if (counts !== "") {
    const sentence = l10n.t("{0}. Click to attach.", counts);
    return {
      text: `$(${paused.stops.paused > 0 ? "debug-pause" : "lock"}) ${counts}`,
      tooltip: `${sentence}\n${details}`,
      severity: "warning",
      click: "workers",
    };
  }
  const usesRay = clusters.clusters.length + clusters.jobs.length > 0 || hasRuns;
  const sentence = l10n.t("Eagleray: no worker is paused. Click to open the view.");
  return {
    text: usesRay ? "$(eagleray-ray) Ray" : "",
    tooltip: `${sentence}\n${details}`,
    severity: "none",
    click: "panel",
  };
}

/** "5 more paused · 1 held". */
function othersText({ stops: { paused, held } }: Snapshot): string {
  return dotted(
    paused > 0 ? l10n.t("{0} more paused", paused) : "",
    held > 0 ? l10n.t("{0} held", held) : "",
  );
}

function tooltip({ clusters }: Clusters): string {
  return clusters
    .map((cluster) => `${plain(cluster.name)}: ${clusterSentence(cluster)}`)
    .join("\n");
}
