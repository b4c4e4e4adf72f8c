/** `"request": "launch"` of launch.json: starts a run, whose stops then come to the front. */

import type * as vscode from "vscode";

import type { Parts } from "../../parts";
import { workspaceFolder } from "../../window_name";
import type { PresetCommands } from "./commands";
import { ifTrusted } from "../runs/trust";

/**
 * The run is no debug session of its own: each of its workers that stops becomes one.  So the configuration
 * is given up once the run has started.
 */
export class LaunchConfigurations implements vscode.DebugConfigurationProvider {
  constructor(
    private readonly parts: Parts,
    private readonly commands: () => Promise<PresetCommands>,
  ) {}

  async resolveDebugConfigurationWithSubstitutedVariables(
    folder: vscode.WorkspaceFolder | undefined,
    config: vscode.DebugConfiguration,
  ): Promise<vscode.DebugConfiguration | undefined> {
    if (config.request !== "launch") {
      return config;
    }
    await this.parts.errors.shown("starting a run", () =>
      ifTrusted(async () =>
        (await this.commands()).launch(folder?.uri.fsPath ?? workspaceFolder(), config),
      ),
    );
    return undefined;
  }
}
