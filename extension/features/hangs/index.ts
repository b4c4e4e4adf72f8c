/** Hangs: why a cluster or a run is stuck, as a picture of all its stacks. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { lazily, registerCommands } from "../../commands";
import type { Disposable } from "../../common/disposables";
import { COMMANDS, PANELS } from "../../contributions";

export function register(app: App): Disposable[] {
  const commands = lazily(async () => {
    const { StuckCommands } = await import("./commands.js");
    return new StuckCommands(app);
  });
  return [
    vscode.window.registerWebviewPanelSerializer(PANELS.picture, {
      deserializeWebviewPanel: async (panel, state: unknown) => {
        await app.errors.shown("restoring a picture", async () =>
          (await commands()).revive(panel, state),
        );
      },
    }),
    ...registerCommands(app, commands, [
      [COMMANDS.whyStuck, "sampling stacks", (to, rows) => to.whyStuck(rows)],
      [COMMANDS.openPicture, "opening a picture", (to, rows) => to.openPicture(rows)],
    ]),
  ];
}
