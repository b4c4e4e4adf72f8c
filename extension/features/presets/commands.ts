/** The commands that start a run by the form, and those about presets; read when the first of them is called. */

import type * as vscode from "vscode";

import type { App } from "../../app";
import { draftOf, emptyDraft } from "../runs/draft";
import { NEW_PROFILE } from "../runs/profile_options";
import type { RunStarter } from "../runs/run_starter";
import { launch } from "./launch";
import type { ReviewDocuments } from "./review_documents";
import { RunWizard } from "./run_wizard";
import { managePresets } from "./user_presets";

export class PresetCommands {
  private readonly guided: RunWizard;

  constructor(
    private readonly app: App,
    private readonly starting: RunStarter,
    reviewed: ReviewDocuments,
  ) {
    this.guided = new RunWizard(app, starting, reviewed);
  }

  async runForm(args: readonly unknown[]): Promise<string | undefined> {
    return await this.guided.run("Debug on Ray", draftOf(args) ?? emptyDraft());
  }

  /** With the preset that fits. */
  async debugRun(args: readonly unknown[]): Promise<string | undefined> {
    return await this.guided.run("Short Test Run", {
      ...(draftOf(args) ?? emptyDraft()),
      preset: "",
    });
  }

  /** With nsys, and without stops, which would be measured. */
  async profile(args: readonly unknown[]): Promise<string | undefined> {
    const draft = draftOf(args) ?? emptyDraft();
    return await this.guided.run("Profile on Ray", { ...draft, profile: NEW_PROFILE });
  }

  /** Starts what a configuration of launch.json describes. */
  launch(folder: string, config: vscode.DebugConfiguration): Promise<void> {
    return launch(this.app, this.starting, this.guided, folder, config);
  }

  managePresets(): Promise<void> {
    return managePresets(this.app);
  }
}
