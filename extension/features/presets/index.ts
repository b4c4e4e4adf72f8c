/** Presets: a run is described in a form, and what a preset changes is reviewed before it starts. */

import * as vscode from "vscode";

import { registerCommands, type Command } from "../../commands";
import type { Disposable } from "../../common/disposables";
import { lazily } from "../../common/lazily";
import { COMMANDS, DEBUG_TYPE } from "../../contributions";
import type { Parts } from "../../parts";
import type { RunsFeature } from "../runs";
import { ifTrusted } from "../runs/trust";
import type { PresetCommands } from "./commands";
import { LaunchConfigurations } from "./configurations";
import { ReviewTexts } from "./review_texts";

/** Commands that execute something of the workspace. */
const TRUSTED: readonly Command<PresetCommands>[] = [
  [COMMANDS.runForm, "starting a run", (to, _, args) => to.runForm(args)],
  [COMMANDS.debugRun, "starting a run", (to, _, args) => to.debugRun(args)],
  [COMMANDS.profileWorkers, "starting a run", (to, _, args) => to.profile(args)],
];

export function register(parts: Parts, { store, starting }: RunsFeature): Disposable[] {
  const reviewed = new ReviewTexts();
  const commands = lazily(async () => {
    const { PresetCommands } = await import("./commands.js");
    return new PresetCommands(parts, store, await starting(), reviewed);
  });
  return [
    reviewed,
    vscode.debug.registerDebugConfigurationProvider(
      DEBUG_TYPE,
      new LaunchConfigurations(parts, commands),
    ),
    ...registerCommands(parts, commands, [
      ...TRUSTED.map(ifTrustedCommand),
      [COMMANDS.presets, "changing presets", (to) => to.managePresets()],
    ]),
  ];
}

function ifTrustedCommand([id, doing, work]: Command<PresetCommands>): Command<PresetCommands> {
  return [id, doing, (...all) => ifTrusted(() => work(...all))];
}
