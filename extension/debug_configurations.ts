/** Debug configurations of the type `eagleray`: `attach` attaches to a worker, `launch` starts a run. */

import * as vscode from "vscode";

import type { AttachConfigurations } from "./debug/attaching/attach_configurations";
import { DEBUG_TYPE } from "./contributions";
import { workspaceFolder } from "./workspace";

/** The configurations of a new launch.json. */
export function initialConfigurations(): vscode.DebugConfiguration[] {
  const [run, attach] = [
    vscode.l10n.t("Debug this file on Ray"),
    vscode.l10n.t("Attach to a paused Ray worker"),
  ];
  return [
    { type: DEBUG_TYPE, request: "launch", name: run, program: "${file}" },
    { type: DEBUG_TYPE, request: "attach", name: attach },
  ];
}

/** Resolves configurations of the type; the feature that a configuration is for resolves it. */
export class DebugConfigurations implements vscode.DebugConfigurationProvider {
  constructor(
    private readonly attaching: () => Promise<AttachConfigurations>,
    private readonly runs: {
      readonly launch: (folder: string, config: vscode.DebugConfiguration) => Promise<void>;
      readonly offered: () => Promise<vscode.DebugConfiguration[]>;
    },
  ) {}

  /** The editor asks for each folder, and without one for the user's settings: the first one has all. */
  async provideDebugConfigurations(
    folder: vscode.WorkspaceFolder | undefined,
  ): Promise<vscode.DebugConfiguration[]> {
    const [first] = vscode.workspace.workspaceFolders ?? [];
    if (folder?.uri.fsPath !== first?.uri.fsPath) {
      return [];
    }
    return [...(await this.runs.offered()), ...(await this.attaching()).offered()];
  }

  async resolveDebugConfiguration(
    _folder: vscode.WorkspaceFolder | undefined,
    config: vscode.DebugConfiguration,
  ): Promise<vscode.DebugConfiguration | undefined> {
    return config.type ? config : await (await this.attaching()).withoutLaunchJson();
  }

  /** A run is not a debug session, each of its workers that stops becomes one: the editor starts nothing for it. */
  async resolveDebugConfigurationWithSubstitutedVariables(
    folder: vscode.WorkspaceFolder | undefined,
    config: vscode.DebugConfiguration,
  ): Promise<vscode.DebugConfiguration | undefined> {
    if (config.request === "launch") {
      await this.runs.launch(folder?.uri.fsPath ?? workspaceFolder(), config);
      return undefined;
    }
    return await (await this.attaching()).resolved(config);
  }
}
