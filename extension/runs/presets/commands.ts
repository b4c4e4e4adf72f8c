/** The commands that start a run by the options page, and those about presets; read when the first of them is called. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { EaglerayError } from "../../common/errors";
import type { TextDocuments } from "../../text_documents";
import { longWork } from "../../dialogs";
import type { Row } from "../../rows";
import { draftOf, emptyDraft, NO_PRESET, type Draft } from "../draft";
import { lastOptions, optionsOfRun } from "../last_options";
import { NEW_PROFILE } from "../profile_options";
import type { RunStarter } from "../run_starter";
import {
  frameworksOf,
  settingsFor,
  withSettings,
  type FixedDraft,
  type FixedSetting,
} from "./fixed_settings";
import { launch } from "./launch";
import type { OptionsSection } from "./options_messages";
import { OptionsPages } from "./options_page";
import { managePresets } from "./user_presets";

export class PresetCommands {
  private readonly pages: OptionsPages;

  constructor(
    private readonly app: App,
    private readonly starting: RunStarter,
    reviewed: TextDocuments,
  ) {
    this.pages = new OptionsPages(app, starting, reviewed);
  }

  /** With the options that were set last for the file. */
  debugWithOptions(args: readonly unknown[]): void {
    const { draft, file } = this.given(args);
    const shorten: readonly OptionsSection[] = draft.preset === NO_PRESET ? [] : ["shorten"];
    this.pages.show({ ...draft, profile: null }, file, ["breakpoints", ...shorten]);
  }

  /** With the preset that fits, where none was chosen. */
  shortTestRun(args: readonly unknown[]): void {
    const { draft, file } = this.given(args);
    const preset = draft.preset === NO_PRESET ? "" : draft.preset;
    this.pages.show({ ...draft, preset, profile: null }, file, ["shorten"]);
  }

  /** With nsys, and without stops, which would be measured. */
  profile(args: readonly unknown[]): void {
    const { draft, file } = this.given(args);
    this.pages.show({ ...draft, profile: draft.profile ?? NEW_PROFILE }, file, ["record"]);
  }

  /** With the options of the run of a row, and the settings of a fix where the row has them. */
  async editAndRerun(rows: readonly Row[]): Promise<void> {
    const [row] = rows;
    const run = row !== undefined && "run" in row ? row.run.id : "";
    const stored = optionsOfRun(this.app, run);
    if (stored === undefined) {
      throw new EaglerayError(
        "no-options",
        vscode.l10n.t("Another workspace started this run and has its options."),
        vscode.l10n.t("Restart the run, or debug its program with options."),
      );
    }
    const { draft, file } = stored;
    if (!isFixed(row)) {
      this.pages.show(draft, file, sectionsOf(draft));
      return;
    }
    const fixed = await this.fixed(draft, row.settings);
    if (fixed !== undefined) {
      this.pages.showFixed(fixed, draft, file, sectionsOf(fixed.draft));
    }
  }

  /** The draft with the settings that its framework has; undefined when the user cancels. */
  private async fixed(
    draft: Draft,
    settings: readonly FixedSetting[],
  ): Promise<FixedDraft | undefined> {
    const framework = await this.frameworkFor(draft, settings);
    if (framework === undefined) {
      return undefined;
    }
    const own = settingsFor(settings, framework, draft);
    if (own.length === 0) {
      throw new EaglerayError(
        "no-fix",
        vscode.l10n.t("The run has none of the settings of this fix."),
        vscode.l10n.t("Copy the setting, and change your program."),
      );
    }
    return withSettings(draft, own);
  }

  /**
   * The framework whose settings are applied:
   *
   * 1. None where the settings are of any.
   * 2. As recognised in the run's program.
   * 3. As the user selects among those that have settings, unless others are of any framework.
   */
  private async frameworkFor(
    draft: Draft,
    settings: readonly FixedSetting[],
  ): Promise<string | undefined> {
    const frameworks = frameworksOf(settings);
    if (frameworks.length === 0) {
      return "";
    }
    const { proposal } = await longWork(vscode.l10n.t("Preparing the run"), (options) =>
      this.starting.check(draft, options),
    );
    const recognised = proposal?.framework ?? "";
    const isAnyEnough = settings.some(({ framework = "" }) => framework === "");
    if (recognised !== "" || isAnyEnough) {
      return recognised;
    }
    const title = vscode.l10n.t("Select the Framework of the Run");
    return await vscode.window.showQuickPick(frameworks, { title });
  }

  revive(panel: vscode.WebviewPanel, state: unknown): void {
    this.pages.revive(panel, state);
  }

  /** Starts what a configuration of launch.json describes. */
  launch(folder: string, config: vscode.DebugConfiguration): Promise<void> {
    return launch(this.app, this.starting, this.pages, folder, config);
  }

  managePresets(): Promise<void> {
    return managePresets(this.app);
  }

  /** The file of a menu or the editor, with its last options; without a file a command that is still to be typed. */
  private given(args: readonly unknown[]): { readonly draft: Draft; readonly file: string } {
    const draft = draftOf(args) ?? emptyDraft();
    return { draft: lastOptions(this.app, draft.path) ?? draft, file: draft.path };
  }
}

/** A row of a run with the settings of a fix, as the doctor passes it. */
interface FixedRow {
  readonly settings: readonly FixedSetting[];
}

function isFixed(row: object | undefined): row is FixedRow {
  return row !== undefined && "settings" in row && Array.isArray(row.settings);
}

/** The sections that have something to show. */
export function sectionsOf({ preset, profile }: Draft): OptionsSection[] {
  const shorten: readonly OptionsSection[] = preset === NO_PRESET ? [] : ["shorten"];
  return [profile === null ? "breakpoints" : "record", ...shorten];
}
