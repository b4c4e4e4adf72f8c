/** `"request": "launch"` of launch.json: starts a run, whose stops then come to the front. */

import * as vscode from "vscode";

import type { Parts } from "../../parts";
import { setting } from "../../settings";
import { NO_PRESET } from "./draft";
import type { Guided } from "./guided";
import { draftOfLaunch } from "./launch_model";
import { agreementOf } from "./review_model";
import { doTask } from "./tasks";
import { ifTrusted } from "./trust";
import type { Starting } from "./starting";
import { workspaceFolder } from "./surroundings";

/** Under this name the texts of what the person has agreed to are kept for the workspace. */
const AGREED = "runs.agreed";
/** More than a person has configurations. */
const KEPT = 50;

/**
 * The run is no debug session of its own: each of its workers that stops becomes one.  So the configuration
 * is given up once the run has started.
 */
export class Launch implements vscode.DebugConfigurationProvider {
  constructor(
    private readonly parts: Parts,
    private readonly starting: Starting,
    private readonly guided: Guided,
  ) {}

  async resolveDebugConfigurationWithSubstitutedVariables(
    folder: vscode.WorkspaceFolder | undefined,
    config: vscode.DebugConfiguration,
  ): Promise<vscode.DebugConfiguration | undefined> {
    if (config.request !== "launch") {
      return config;
    }
    await this.parts.errors.shown("starting a run", () =>
      ifTrusted(() => this.start(folder?.uri.fsPath ?? workspaceFolder(), config)),
    );
    return undefined;
  }

  private async start(folder: string, config: vscode.DebugConfiguration): Promise<void> {
    const said = { breakOnFailure: setting("runs.breakOnFailure"), ...config };
    const draft = draftOfLaunch(said, folder);
    if (config["preLaunchTask"] !== undefined) {
      await doTask(String(config["preLaunchTask"]));
    }
    const proposal = await this.starting.prepare(draft);
    const agreement = agreementOf(draft, proposal);
    if (draft.preset === NO_PRESET || this.agreed.includes(agreement)) {
      await this.starting.start(proposal);
      return;
    }
    const started = await this.guided.reviewed("Run on Ray", draft);
    // What was changed on the way is not what the configuration says the next time.
    if (started?.agreed === agreement) {
      const agreed = [agreement, ...this.agreed].slice(0, KEPT);
      await this.parts.context.workspaceState.update(AGREED, agreed);
    }
  }

  private get agreed(): readonly string[] {
    return this.parts.context.workspaceState.get<readonly string[]>(AGREED) ?? [];
  }
}
