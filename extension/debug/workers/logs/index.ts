/** The logs of workers: opened, followed and searched. */

import type { App } from "../../../app";
import { lazily, registerCommands } from "../../../commands";
import { Disposables, type Disposable } from "../../../common/disposables";
import { COMMANDS } from "../../../contributions";
import { OPEN_LOG } from "../messages";
import { LogDocuments } from "./documents";

export function register(app: App): Disposable[] {
  const owned = new Disposables();
  const documents = owned.add(
    new LogDocuments(async (log) => (await app.sidecar.request(OPEN_LOG, log)).text),
  );
  const commands = lazily(async () => {
    const { LogCommands } = await import("./commands.js");
    return owned.add(new LogCommands(app, documents));
  });
  return [
    owned,
    ...registerCommands(app, commands, [
      [COMMANDS.openLog, "opening a log", (to, rows) => to.open(rows, "out")],
      [COMMANDS.openErrorLog, "opening a log", (to, rows) => to.open(rows, "err")],
      [COMMANDS.followLog, "following a log", (to, rows) => to.follow(rows)],
      [COMMANDS.stopFollowing, "ending a follower", (to, rows) => to.stopFollowing(rows)],
      [COMMANDS.copyWorkerName, "copying", (to, rows) => to.copyNames(rows)],
      [COMMANDS.copyWorkerId, "copying", (to, rows) => to.copy(rows, "worker_id")],
      [COMMANDS.copyPid, "copying", (to, rows) => to.copy(rows, "pid")],
      [COMMANDS.copyNode, "copying", (to, rows) => to.copy(rows, "node_ip")],
      [COMMANDS.searchLogs, "searching logs", (to, rows) => to.search(rows)],
    ]),
  ];
}
