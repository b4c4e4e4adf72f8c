/** Inference servers: their commands, and the variables of the chosen one in launch configurations and terminals. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { lazily, registerCommands } from "../../commands";
import type { Disposable } from "../../common/disposables";
import { COMMANDS } from "../../contributions";
import { ifTrusted } from "../../workspace";
import { AddedServers } from "./added_servers";
import { ChosenServer } from "./chosen_server";

export function register(app: App): Disposable[] {
  const chosen = new ChosenServer(app);
  const added = new AddedServers(app);
  const commands = lazily(async () => {
    const { ServerCommands } = await import("./commands.js");
    return new ServerCommands(app, chosen, added);
  });
  return [
    chosen,
    added,
    vscode.debug.registerDebugConfigurationProvider("*", chosen),
    ...registerCommands(app, commands, [
      [COMMANDS.startServer, "starting a server", (to) => ifTrusted(() => to.start())],
      [COMMANDS.useServer, "choosing a server", (to, rows) => to.use(rows)],
      [
        COMMANDS.copyServerVariables,
        "copying the variables of a server",
        (to, rows) => to.copy(rows),
      ],
      [COMMANDS.removeServer, "removing a server", (to, rows) => to.remove(rows)],
    ]),
  ];
}
