/** The commands about trajectories; read when the first of them is called. */

import * as vscode from "vscode";

import type { App } from "../app";
import { askForPath } from "../typed_paths";
import { TrajectoryPanels } from "./trajectory_panel";

export class TrajectoryCommands {
  private readonly panels: TrajectoryPanels;

  constructor(app: App) {
    this.panels = new TrajectoryPanels(app);
  }

  /** Opens a file of the explorer, or the file or folder that the user selects. */
  async open(argument: unknown): Promise<void> {
    const path = argument instanceof vscode.Uri ? argument.fsPath : await selected();
    if (path !== undefined) {
      this.panels.show(path);
    }
  }

  /** A trajectory of a dump; `item` counts from 1.  The tab is called `title`. */
  show(path: string, item: number, title: string): void {
    this.panels.show(path, item, title);
  }

  revive(panel: vscode.WebviewPanel, state: unknown): void {
    this.panels.revive(panel, state);
  }
}

async function selected(): Promise<string | undefined> {
  return await askForPath({
    title: vscode.l10n.t("Select a Dump of Trajectories, or Its Folder"),
    openLabel: vscode.l10n.t("Open"),
    kind: "any",
    listed: "**/*.{jsonl,ndjson}",
  });
}
