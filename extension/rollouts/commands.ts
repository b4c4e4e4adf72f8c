/** The commands about trajectories; read when the first of them is called. */

import * as vscode from "vscode";

import type { App } from "../app";
import { selectedFilesOrFolder } from "../file_or_folder";
import { TrajectoryPanels } from "./trajectory_panel";

export class TrajectoryCommands {
  private readonly panels: TrajectoryPanels;

  constructor(app: App) {
    this.panels = new TrajectoryPanels(app);
  }

  /** Opens a file of the explorer, or the file or folder that the user selects. */
  async open(argument: unknown): Promise<void> {
    const uri = argument instanceof vscode.Uri ? argument : await selected();
    if (uri !== undefined) {
      this.panels.show(uri.fsPath);
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

async function selected(): Promise<vscode.Uri | undefined> {
  const [uri] = await selectedFilesOrFolder({
    title: vscode.l10n.t("Select a Dump of Trajectories, or Its Folder"),
    openLabel: vscode.l10n.t("Open"),
    canSelectMany: false,
  });
  return uri;
}
