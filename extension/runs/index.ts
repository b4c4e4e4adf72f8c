/** Runs: the commands, views and watchers of programs that are started ready to debug. */

import type { App } from "../app";
import { lazily, registerCommands, type CommandDefinition } from "../commands";
import { Disposables, type Disposable } from "../common/disposables";
import { COMMANDS, VIEWS } from "../contributions";
import { RowTree } from "../tree_view";
import { ifTrusted } from "../workspace";
import type { StopTracker } from "../debug/attaching/stop_tracker";
import { RunCommands } from "./commands";
import { BreakpointNotes, GutterBreakpoints } from "./gutter_breakpoints";
import { RunOutput } from "./output";
import { OutputDocuments } from "./output_documents";
import { RecordingTimes } from "./recording_times";
import type { Run } from "./messages";
import { RayPrograms } from "./ray_programs";
import type { RunsRow, RunsView } from "./rows";
import { RunStarter } from "./run_starter";
import { RunStops } from "./run_stops";
import { isLive } from "./states";

/** The commands that execute something of the workspace. */
const TRUSTED: readonly CommandDefinition<RunCommands>[] = [
  [COMMANDS.debug, "starting a run", (to, _, args) => to.run(args)],
  [COMMANDS.rerunLast, "starting a run again", (to, _, args) => to.runAgain(args)],
  [COMMANDS.restartRun, "restarting a run", (to, rows) => to.restart(rows)],
  [COMMANDS.showOutput, "showing a run’s output", (to, rows) => to.showOutput(rows)],
  [COMMANDS.openOutput, "opening a run’s output", (to, rows) => to.openOutput(rows)],
];

const COMMANDS_OF_RUNS: readonly CommandDefinition<RunCommands>[] = [
  ...TRUSTED.map(([id, doing, work]): CommandDefinition<RunCommands> => [
    id,
    doing,
    (...all) => ifTrusted(() => work(...all)),
  ]),
  [
    COMMANDS.selectInterpreter,
    "selecting an interpreter",
    (to, _, args) => ifTrusted(() => to.selectInterpreter(args)),
  ],
  [COMMANDS.stopRun, "stopping a run", (to, rows) => to.stop(rows)],
  [COMMANDS.pauseWorker, "pausing a worker", (to, rows) => to.pause(rows)],
  [COMMANDS.copyCommand, "copying a command", (to, rows) => to.copy(rows)],
  [COMMANDS.removeRun, "removing a run", (to, rows) => to.remove(rows)],
  [COMMANDS.clearEndedRuns, "removing the ended runs", (to) => to.clearEnded()],
  [COMMANDS.goToBreakpoint, "showing a line", (to, rows) => to.showLine(rows)],
];

/** The parts with which presets and launch.json start runs. */
export interface RunsFeature {
  readonly owned: readonly Disposable[];
  readonly starting: () => Promise<RunStarter>;
}

export function register(app: App, tracker: StopTracker): RunsFeature {
  const output = new RunOutput(app);
  const documents = new OutputDocuments(app);
  const started = new Set<string>();
  const stops = new RunStops(app, started, tracker);
  const starting = lazily(async () => {
    const { RunStarter } = await import("./run_starter.js");
    return new RunStarter(app, output, started);
  });
  const commands = lazily(async () => {
    const { RunCommands } = await import("./commands.js");
    return new RunCommands(app, stops, { terminals: output, documents }, await starting());
  });
  const owned = [
    output,
    documents,
    stops,
    new GutterBreakpoints(app),
    new BreakpointNotes(app),
    new RayPrograms(),
    runsView(app),
    failures(app, started),
    stuckRuns(app, started),
    ...registerCommands(app, commands, COMMANDS_OF_RUNS),
  ];
  return { owned, starting };
}

/** How often the durations of runs are redrawn; durations of the first minute have seconds. */
const REDRAW_MS = 10_000;
const REDRAW_FIRST_MS = 5_000;
const FIRST_S = 90;
const REDRAW_RECORDING_MS = 1_000;

function runsView(app: App): Disposable {
  const { runs } = app;
  const owned = new Disposables();
  const recordings = new RecordingTimes();
  const input = (): RunsView => ({
    runs: runs.value,
    servers: app.addedServers.value,
    clusters: app.clusters.value,
    profiled: app.profiled.value,
    recordings,
    now_s: Date.now() / 1000,
  });
  const tree = owned.add(
    new RowTree<RunsRow>(
      VIEWS.runs,
      async () => {
        const { runsClick, runsRows, runsTexts } = await import("./rows.js");
        return {
          children: (row) => runsRows(input(), row),
          texts: (row) => runsTexts(input(), row),
          click: runsClick,
        };
      },
      app.selection,
    ),
  );
  app.panel.add(tree.view);
  const redraw = (): void => {
    tree.redraw();
  };
  owned.add(runs.onChanged(redraw));
  owned.add(app.addedServers.onChanged(redraw));
  owned.add(
    app.profiled.onChanged((profiled) => {
      recordings.update(profiled, Date.now() / 1000);
      redraw();
    }),
  );
  const isNew = (run: Run): boolean => isLive(run) && Date.now() / 1000 - run.started < FIRST_S;
  tree.redrawEvery(REDRAW_MS, () => runs.value.runs.some(isLive));
  tree.redrawEvery(REDRAW_FIRST_MS, () => runs.value.runs.some(isNew));
  tree.redrawEvery(REDRAW_RECORDING_MS, () => recordings.isRecording);
  return owned;
}

/** Announces runs of this window that fail; the message is read when the first does. */
function failures(app: App, started: ReadonlySet<string>): Disposable {
  const opened_s = Date.now() / 1000;
  const notifier = lazily(async () => {
    const { FailureMessages } = await import("./failure_messages.js");
    return new FailureMessages(app, started, opened_s);
  });
  return app.runs.onChanged(({ runs }) => {
    if (runs.some(({ state, ended }) => state === "failed" && ended >= opened_s)) {
      void notifier().then((messages) => {
        messages.update(runs);
      });
    }
  });
}

/** Announces runs of this window that print nothing; the message is read when the first does. */
function stuckRuns(app: App, started: ReadonlySet<string>): Disposable {
  const opened_s = Date.now() / 1000;
  const notifier = lazily(async () => {
    const { StuckMessages } = await import("./stuck_messages.js");
    return new StuckMessages(started, opened_s);
  });
  return app.runs.onChanged(({ runs }) => {
    if (runs.some(({ picture }) => picture?.is_stuck === true)) {
      void notifier().then((messages) => {
        messages.update(runs);
      });
    }
  });
}
