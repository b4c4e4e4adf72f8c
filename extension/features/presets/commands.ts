/** The commands that start a run by the options page, and those about presets; read when the first of them is called. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { EaglerayError } from "../../common/errors";
import type { Row } from "../../panel";
import { draftOf, emptyDraft, NO_PRESET, type Draft } from "../runs/draft";
import { lastOptions, optionsOfRun } from "../runs/last_options";
import { NEW_PROFILE } from "../runs/profile_options";
import type { RunStarter } from "../runs/run_starter";
import { launch } from "./launch";
import type { OptionsSection } from "./options_messages";
import { OptionsPages } from "./options_page";
import type { ReviewDocuments } from "./review_documents";
import { managePresets } from "./user_presets";

export class PresetCommands {
  private readonly pages: OptionsPages;

  constructor(
    private readonly app: App,
    private readonly starting: RunStarter,
    reviewed: ReviewDocuments,
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

  /** With the options of the run of a row. */
  editAndRerun(rows: readonly Row[]): void {
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
    this.pages.show(draft, file, sectionsOf(draft));
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

/** The sections that have something to show. */
export function sectionsOf({ preset, profile }: Draft): OptionsSection[] {
  const shorten: readonly OptionsSection[] = preset === NO_PRESET ? [] : ["shorten"];
  return [profile === null ? "breakpoints" : "record", ...shorten];
}
