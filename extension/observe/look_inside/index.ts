/** Look Inside: shows a worker that runs or hangs as a paused debug session, without stopping it. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { lazily, registerCommands } from "../../commands";
import { Disposables, type Disposable } from "../../common/disposables";
import { COMMANDS, INSPECTION_TYPE } from "../../contributions";
import { AdapterFactory } from "../../debug/attaching/debug_adapter";

export function register(app: App): Disposable[] {
  const factory = new AdapterFactory(app.errors);
  const owned = new Disposables();
  const inspector = lazily(async () => {
    const { Inspector } = await import("./inspector.js");
    return owned.add(new Inspector(app, factory));
  });
  return [
    owned,
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
  ];
}
