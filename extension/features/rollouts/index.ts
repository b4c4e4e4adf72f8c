/** Rollouts: the page of trajectories that a trainer wrote. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { lazily, registerCommands } from "../../commands";
import type { Disposable } from "../../common/disposables";
import { COMMANDS, PANELS } from "../../contributions";

export function register(app: App): Disposable[] {
  const commands = lazily(async () => {
    const { TrajectoryCommands } = await import("./commands.js");
    return new TrajectoryCommands(app);
  });
  return [
    vscode.window.registerWebviewPanelSerializer(PANELS.trajectories, {
      deserializeWebviewPanel: async (panel, state: unknown) => {
        await app.errors.shown("restoring trajectories", async () => {
          (await commands()).revive(panel, state);
        });
      },
    }),
    ...registerCommands(app, commands, [
      [COMMANDS.openTrajectories, "opening trajectories", (to, _, args) => to.open(args[0])],
    ]),
  ];
}
