/** The first run: a sample project, a sample report and the walkthrough. */

import * as vscode from "vscode";

import type { App } from "../app";
import { lazily, registerCommands } from "../commands";
import type { Disposable } from "../common/disposables";
import { COMMANDS, WALKTHROUGH } from "../contributions";

export function register(app: App): Disposable[] {
  const samples = lazily(async () => {
    const { Samples } = await import("./samples.js");
    return new Samples(app.context);
  });
  const walkthrough = `${app.context.extension.id}#${WALKTHROUGH}`;
  return registerCommands(app, samples, [
    [COMMANDS.openSample, "opening the sample project", (to, _, args) => to.openProject(args)],
    [COMMANDS.openSampleReport, "opening the sample report", (to) => to.openReport()],
    [
      COMMANDS.openWalkthrough,
      "opening the walkthrough",
      () => vscode.commands.executeCommand("workbench.action.openWalkthrough", walkthrough, false),
    ],
  ]);
}
