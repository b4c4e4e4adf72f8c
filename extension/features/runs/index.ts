/** Runs: programs that are started ready to debug, and what becomes of them. */

import * as vscode from "vscode";

import { registerCommands, type Command } from "../../commands";
import type { Disposable } from "../../common/disposables";
import { lazily } from "../../common/lazily";
import { COMMANDS, DEBUG_TYPE } from "../../contributions";
import type { Parts } from "../../parts";
import type { RunCommands } from "./commands";
import { LaunchConfigurations } from "./configurations";
import { Gutter } from "./gutter";
import { LineNotes } from "./line_notes";
import { Output } from "./output";
import { ReviewTexts } from "./review_texts";
import { Standing } from "./standing";
import { Stops } from "./stops";
import { RunsStore } from "./store";
import { ifTrusted } from "./trust";
import { runsView } from "./view";

/** What executes something of the workspace. */
const TRUSTED: readonly Command<RunCommands>[] = [
  [COMMANDS.run, "starting a run", (to, _, args) => to.run(args)],
  [COMMANDS.runForm, "starting a run", (to, _, args) => to.runForm(args)],
  [COMMANDS.runAgain, "starting a run again", (to, _, args) => to.runAgain(args)],
  [COMMANDS.debugRun, "starting a run", (to, _, args) => to.debugRun(args)],
  [COMMANDS.profileWorkers, "starting a run", (to, _, args) => to.profile(args)],
  [COMMANDS.restartRun, "restarting a run", (to, rows) => to.restart(rows)],
  [COMMANDS.showRunOutput, "showing a run’s output", (to, rows) => to.showOutput(rows)],
];

const COMMANDS_OF_RUNS: readonly Command<RunCommands>[] = [
  ...TRUSTED.map(([id, doing, work]): Command<RunCommands> => [
    id,
    doing,
    (...all) => ifTrusted(() => work(...all)),
  ]),
  [COMMANDS.stopRun, "stopping a run", (to, rows) => to.stop(rows)],
  [COMMANDS.pauseWorker, "pausing a worker", (to, rows) => to.pause(rows)],
  [COMMANDS.copyRunCommand, "copying a command", (to, rows) => to.copy(rows)],
  [COMMANDS.forgetRun, "forgetting a run", (to, rows) => to.forget(rows)],
  [COMMANDS.showRunLine, "showing a line", (to, rows) => to.showLine(rows)],
  [COMMANDS.presets, "changing presets", (to) => to.managePresets()],
];

export function register(parts: Parts): Disposable[] {
  const store = new RunsStore(parts);
  const output = new Output(parts, store);
  const reviewed = new ReviewTexts();
  const standing = new Standing();
  const started = new Set<string>();
  const stops = new Stops(parts, store, started, standing);
  const commands = lazily(async () => {
    const { RunCommands } = await import("./commands.js");
    return new RunCommands(parts, store, stops, output, started, reviewed);
  });
  const launching = new LaunchConfigurations(parts, commands);
  return [
    store,
    output,
    reviewed,
    standing,
    stops,
    new Gutter(parts, store),
    new LineNotes(store),
    runsView(parts, store),
    vscode.debug.registerDebugConfigurationProvider(DEBUG_TYPE, launching),
    ...registerCommands(parts, commands, COMMANDS_OF_RUNS),
  ];
}
