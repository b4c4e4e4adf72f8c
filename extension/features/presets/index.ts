/** Presets: a run is described in a form, and the changes of a preset are reviewed before it starts. */

import type * as vscode from "vscode";

import type { App } from "../../app";
import { lazily, registerCommands, type CommandDefinition } from "../../commands";
import type { Disposable } from "../../common/disposables";
import { COMMANDS } from "../../contributions";
import { ifTrusted } from "../../workspace";
import type { RunsFeature } from "../runs";
import { PresetCommands } from "./commands";
import { ReviewDocuments } from "./review_documents";

/** Commands that execute something of the workspace. */
const TRUSTED: readonly CommandDefinition<PresetCommands>[] = [
  [COMMANDS.debugWithOptions, "starting a run", (to, _, args) => to.runForm(args)],
  [COMMANDS.shortTestRun, "starting a run", (to, _, args) => to.debugRun(args)],
  [COMMANDS.profile, "starting a run", (to, _, args) => to.profile(args)],
];

/** The parts that main.ts connects with other features. */
interface PresetsFeature {
  readonly owned: readonly Disposable[];
  /** Starts the run that a configuration of launch.json describes; a failure has been shown. */
  readonly launch: (folder: string, config: vscode.DebugConfiguration) => Promise<void>;
}

export function register(app: App, { starting }: RunsFeature): PresetsFeature {
  const reviewed = new ReviewDocuments();
  const commands = lazily(async () => {
    const { PresetCommands } = await import("./commands.js");
    return new PresetCommands(app, await starting(), reviewed);
  });
  const owned = [
    reviewed,
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
  return { owned, launch };
}
