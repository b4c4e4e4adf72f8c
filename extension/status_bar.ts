/** The item in the status bar, and the context keys that follow how the sidecar does. */

import * as vscode from "vscode";

import { Disposables, type Disposable } from "./common/disposables";
import { setContextKey } from "./context_keys";
import { COMMANDS, type CommandId } from "./contributions";
import type { Parts } from "./parts";
import { statusOf, type Status } from "./status";

const CLICKS: Readonly<Record<Status["click"], CommandId>> = {
  panel: COMMANDS.showPanel,
  logs: COMMANDS.showLogs,
  python: COMMANDS.selectPython,
};

const BACKGROUNDS: Readonly<Record<Status["severity"], vscode.ThemeColor | undefined>> = {
  none: undefined,
  warning: new vscode.ThemeColor("statusBarItem.warningBackground"),
  error: new vscode.ThemeColor("statusBarItem.errorBackground"),
};

export function statusBar(parts: Parts): Disposable {
  const owned = new Disposables();
  const item = owned.add(
    vscode.window.createStatusBarItem("eagleray.status", vscode.StatusBarAlignment.Left, 10),
  );
  item.name = "Eagleray";
  const show = (): void => {
    const status = statusOf(parts.sidecar.state.value, parts.clusters.value, parts.paused.value);
    item.text = status.text;
    item.tooltip = status.tooltip;
    item.accessibilityInformation = { label: status.tooltip, role: "button" };
    item.backgroundColor = BACKGROUNDS[status.severity];
    item.command = CLICKS[status.click];
    setContextKey("eagleray.sidecar", parts.sidecar.state.value);
    const { paused, held } = parts.paused.value;
    setContextKey("eagleray.hasPaused", paused + held > 0);
    setContextKey("eagleray.hasJobs", parts.clusters.value.jobs.length > 0);
  };
  owned.add(parts.sidecar.state.onChanged(show));
  owned.add(parts.clusters.onChanged(show));
  owned.add(parts.paused.onChanged(show));
  show();
  item.show();
  return owned;
}
