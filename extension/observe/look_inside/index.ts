/** Look Inside: shows a worker that runs or hangs as a paused debug session, without stopping it. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { lazily, registerCommands } from "../../commands";
import { Disposables, type Disposable } from "../../common/disposables";
import { COMMANDS, DEBUG_TYPE, INSPECTION_TYPE } from "../../contributions";
import { AdapterFactory } from "../../debug/attaching/debug_adapter";

const TYPES = [DEBUG_TYPE, INSPECTION_TYPE];

export function register(app: App): Disposable[] {
  const factory = new AdapterFactory(app.errors);
  const owned = new Disposables();
  const inspector = lazily(async () => {
    const { Inspector } = await import("./inspector.js");
    return owned.add(new Inspector(app, factory));
  });
  const stops = lazily(async () => {
    const { ValueStops } = await import("./value_sessions.js");
    return owned.add(new ValueStops());
  });
  const tracker: vscode.DebugAdapterTrackerFactory = {
    createDebugAdapterTracker: async (session) =>
      (await stops()).createDebugAdapterTracker(session),
  };
  const values = lazily(async () => {
    const { ValueCommands } = await import("./value_commands.js");
    return new ValueCommands(app, await stops());
  });
  return [
    owned,
    inlineValues(),
    ...TYPES.map((type) => vscode.debug.registerDebugAdapterTrackerFactory(type, tracker)),
    // A type of its own: for every other feature these sessions belong to another debugger.
    vscode.debug.registerDebugAdapterDescriptorFactory(INSPECTION_TYPE, factory),
    ...registerCommands(app, inspector, [
      [
        COMMANDS.inspectWorker,
        "inspecting a worker",
        (to, rows, args) => to.inspectRows(rows, args),
      ],
      [COMMANDS.pauseAtNextLine, "pausing an inspected worker", (to) => to.pauseAtNextLine()],
    ]),
    ...registerCommands(app, values, [
      [COMMANDS.viewValue, "viewing a value", (to, _, args) => to.view(args)],
    ]),
  ];
}

/** Registered while a session of ours is in front: for a language with a provider the editor shows no values of its own. */
function inlineValues(): Disposable {
  let registered: Disposable | undefined;
  const end = (): void => {
    registered?.dispose();
    registered = undefined;
  };
  const update = (): void => {
    const isOurs = TYPES.includes(vscode.debug.activeDebugSession?.type ?? "");
    if (!isOurs) {
      end();
    } else if (registered === undefined) {
      const shapes = lazily(async () => {
        const { ShapesInline } = await import("./inline_values.js");
        return new ShapesInline();
      });
      registered = vscode.languages.registerInlineValuesProvider(
        { language: "python" },
        {
          provideInlineValues: async (...args) => (await shapes()).provideInlineValues(...args),
        },
      );
    }
  };
  const listening = vscode.debug.onDidChangeActiveDebugSession(update);
  return {
    dispose: () => {
      listening.dispose();
      end();
    },
  };
}
