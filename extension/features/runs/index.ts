/** Runs: programs that are started ready to debug, and what becomes of them. */

import { lazily, registerCommands, type Command } from "../../commands";
import type { Disposable } from "../../common/disposables";
import { COMMANDS } from "../../contributions";
import type { Parts } from "../../parts";
import { ifTrusted } from "../../workspace";
import type { StopTracker } from "../debugging/stop_tracker";
import { RunCommands } from "./commands";
import { Gutter } from "./gutter";
import { LineNotes } from "./line_notes";
import { Output } from "./output";
import { Starting } from "./starting";
import { RunStops } from "./stops";
import { runsView } from "./view";

/** What executes something of the workspace. */
const TRUSTED: readonly Command<RunCommands>[] = [
  [COMMANDS.run, "starting a run", (to, _, args) => to.run(args)],
  [COMMANDS.runAgain, "starting a run again", (to, _, args) => to.runAgain(args)],
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
];

/** What presets and launch.json start runs with. */
export interface RunsFeature {
  readonly owned: readonly Disposable[];
  readonly starting: () => Promise<Starting>;
}

export function register(parts: Parts, tracker: StopTracker): RunsFeature {
  const output = new Output(parts);
  const started = new Set<string>();
  const stops = new RunStops(parts, started, tracker);
  const starting = lazily(async () => {
    const { Starting } = await import("./starting.js");
    return new Starting(parts, output, started);
  });
  const commands = lazily(async () => {
    const { RunCommands } = await import("./commands.js");
    return new RunCommands(parts, stops, output, await starting());
  });
  const owned = [
    output,
    stops,
    new Gutter(parts),
    new LineNotes(parts),
    runsView(parts),
    ...registerCommands(parts, commands, COMMANDS_OF_RUNS),
  ];
  return { owned, starting };
}
