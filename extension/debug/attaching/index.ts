/** Debugging: attaching to paused workers, and releasing them. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { lazily, registerCommands } from "../../commands";
import { Disposables, type Disposable } from "../../common/disposables";
import type { Readable } from "../../common/store";
import { COMMANDS, DEBUG_TYPE } from "../../contributions";
import type { AttachConfigurations } from "./attach_configurations";
import { PausedAutoAttach } from "./auto_attach";
import { DebuggedWorkerInFront } from "./debugged_worker";
import { AdapterCrash, AdapterFactory } from "./debug_adapter";
import { HeldWorkers } from "./held_workers";
import { CONTINUE, CONTINUE_OTHERS, RELEASE } from "./messages";
import type { DebuggedWorker } from "./model";
import { DebugSessions } from "./sessions";
import { StopTracker } from "./stop_tracker";
import { Attacher } from "./worker_actions";

/** The parts of this feature that later ones need. */
interface DebuggingFeature {
  readonly owned: readonly Disposable[];
  readonly configurations: () => Promise<AttachConfigurations>;
  readonly stops: StopTracker;
  /** The worker whose session is in front. */
  readonly inFront: Readable<DebuggedWorker | undefined>;
}

export function register(app: App): DebuggingFeature {
  const factory = new AdapterFactory(app.errors);
  const sessions = new DebugSessions();
  const attacher = new Attacher(app, sessions);
  const stops = new StopTracker();
  const trackers = [new AdapterCrash(app), stops];
  const timers = new Disposables();
  const commands = lazily(async () => {
    const { DebugCommands } = await import("./commands.js");
    return timers.add(new DebugCommands(app, attacher, sessions));
  });
  const configurations = lazily(async () => {
    const { AttachConfigurations } = await import("./attach_configurations.js");
    return new AttachConfigurations(app, factory);
  });
  const inFront = new DebuggedWorkerInFront();
  const owned = [
    sessions,
    timers,
    inFront,
    lineMarks(app, inFront.worker),
    stops,
    vscode.debug.registerDebugAdapterDescriptorFactory(DEBUG_TYPE, factory),
    ...trackers.map((tracker) =>
      vscode.debug.registerDebugAdapterTrackerFactory(DEBUG_TYPE, tracker),
    ),
    new PausedAutoAttach(app, attacher, sessions),
    new HeldWorkers(app, attacher),
    ...registerCommands(app, commands, [
      [COMMANDS.attach, "attaching", (to, rows, args) => to.attach(rows, args)],
      [COMMANDS.attachNext, "attaching", (to) => to.attachNext()],
      [
        COMMANDS.continue,
        "continuing",
        (to, rows, args) => to.act("continuing", CONTINUE, rows, args),
      ],
      [COMMANDS.continueGroup, "continuing", (to, rows, args) => to.continueAllOf(rows, args)],
      [
        COMMANDS.continueOthers,
        "continuing others than",
        (to, rows, args) => to.act("continuing others than", CONTINUE_OTHERS, rows, args),
      ],
      [COMMANDS.continueAll, "continuing", (to) => to.continueAll()],
      [COMMANDS.detach, "releasing", (to, rows, args) => to.act("releasing", RELEASE, rows, args)],
      [COMMANDS.skipBreakpoint, "skipping a breakpoint()", (to, rows, args) => to.skip(rows, args)],
      [COMMANDS.manageSkipped, "managing skipped breakpoint()s", (to) => to.forgetIgnored()],
    ]),
    ...registerCommands(app, () => import("./paused_picker.js"), [
      [
        COMMANDS.showPausedWorkers,
        "showing the paused workers",
        async (to) => to.showPausedWorkers(app, sessions, await commands()),
      ],
    ]),
  ];
  return {
    owned,
    configurations,
    stops,
    inFront: inFront.worker,
  };
}

/** The marks at stopped lines; their module is read when the first worker is paused. */
function lineMarks(app: App, inFront: Readable<DebuggedWorker | undefined>): Disposable {
  const owned = new Disposables();
  const show = lazily(async () => {
    const { LineMarks } = await import("./line_marks.js");
    return owned.add(new LineMarks(app, inFront));
  });
  owned.add(
    app.paused.onChanged(({ groups }) => {
      if (groups.length > 0) {
        void show();
      }
    }),
  );
  return owned;
}
