/** Debug configurations of the type `eagleray`: `attach` attaches to a worker, `launch` starts a run. */

import type * as vscode from "vscode";

import type { AttachConfigurations } from "./debug/attaching/attach_configurations";
import { workspaceFolder } from "./workspace";

/** Resolves configurations of the type; the feature that a configuration is for resolves it. */
export class DebugConfigurations implements vscode.DebugConfigurationProvider {
  constructor(
    private readonly attaching: () => Promise<AttachConfigurations>,
    private readonly launch: (folder: string, config: vscode.DebugConfiguration) => Promise<void>,
  ) {}

  async provideDebugConfigurations(): Promise<vscode.DebugConfiguration[]> {
    return (await this.attaching()).offered();
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
      await this.launch(folder?.uri.fsPath ?? workspaceFolder(), config);
      return undefined;
    }
    return await (await this.attaching()).resolved(config);
  }
}
