/** The doctor: the first cause in the logs of a run, a file or a folder. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { lazily, registerCommands } from "../../commands";
import type { Disposable } from "../../common/disposables";
import { COMMANDS, PANELS } from "../../contributions";

export function register(app: App): Disposable[] {
  const commands = lazily(async () => {
    const { DoctorCommands } = await import("./commands.js");
    return new DoctorCommands(app);
  });
  return [
    vscode.window.registerWebviewPanelSerializer(PANELS.diagnosis, {
      deserializeWebviewPanel: async (panel, state: unknown) => {
        await app.errors.shown("restoring a diagnosis", async () => {
          (await commands()).revive(panel, state);
        });
      },
    }),
    ...registerCommands(app, commands, [
      [COMMANDS.diagnose, "diagnosing", (to, rows, args) => to.diagnose(rows, args)],
    ]),
  ];
}
