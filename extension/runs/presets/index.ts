/** Presets: a run is described in the options page, which shows what a preset changes before it starts. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { lazily, registerCommands, type CommandDefinition } from "../../commands";
import type { Disposable } from "../../common/disposables";
import { TextDocuments } from "../../text_documents";
import { COMMANDS, PANELS } from "../../contributions";
import { restoreTabs } from "../../page/restored_tabs";
import { ifTrusted } from "../../workspace";
import type { RunsFeature } from "..";
import { PresetCommands } from "./commands";

/** Commands that execute something of the workspace. */
const TRUSTED: readonly CommandDefinition<PresetCommands>[] = [
  [
    COMMANDS.debugWithOptions,
    "opening the options",
    (to, _, args) => {
      to.debugWithOptions(args);
    },
  ],
  [
    COMMANDS.shortTestRun,
    "opening the options",
    (to, _, args) => {
      to.shortTestRun(args);
    },
  ],
  [
    COMMANDS.profile,
    "opening the options",
    (to, _, args) => {
      to.profile(args);
    },
  ],
  [COMMANDS.editAndRerun, "opening the options", (to, rows) => to.editAndRerun(rows)],
];

/** The parts that main.ts connects with other features. */
interface PresetsFeature {
  readonly owned: readonly Disposable[];
  /** Starts the run that a configuration of launch.json describes; a failure has been shown. */
  readonly launch: (folder: string, config: vscode.DebugConfiguration) => Promise<void>;
  /** The runs that the editor offers without a launch.json. */
  readonly offered: () => Promise<vscode.DebugConfiguration[]>;
}

export function register(app: App, { starting }: RunsFeature): PresetsFeature {
  const reviewed = new TextDocuments(
    "eagleray-run",
    vscode.l10n.t("This comparison isn't stored. Open it again from the options page."),
  );
  const commands = lazily(async () => {
    const { PresetCommands } = await import("./commands.js");
    return new PresetCommands(app, await starting(), reviewed);
  });
  const owned = [
    reviewed,
    restoreTabs(app, PANELS.runOptions, "restoring the options", commands),
    ...registerCommands(app, commands, [
      ...TRUSTED.map(([id, doing, work]): CommandDefinition<PresetCommands> => [
        id,
        doing,
        (...all) => ifTrusted(() => work(...all)),
      ]),
      [COMMANDS.presets, "changing presets", (to) => to.managePresets()],
    ]),
  ];
  const launch: PresetsFeature["launch"] = async (folder, config) => {
    await app.errors.shown("starting a run", () =>
      ifTrusted(async () => (await commands()).launch(folder, config)),
    );
  };
  const offered = async (): Promise<vscode.DebugConfiguration[]> =>
    (await import("./launch.js")).offered(app);
  return { owned, launch, offered };
}
