/** Workers: the paused ones, all of them, and their logs. */

import { registerCommands } from "../../commands";
import type { Disposable } from "../../common/disposables";
import { lazily } from "../../commands";
import { COMMANDS } from "../../contributions";
import type { Parts } from "../../parts";
import { AllWorkersView } from "./all_view";
import { Followers } from "./following";
import { LogDocuments } from "./log_documents";
import { OPEN_LOG } from "./messages";
import { notifications } from "./notification";
import { pausedView } from "./paused_view";
import { watching } from "./watching";

export function register(parts: Parts): Disposable[] {
  const documents = new LogDocuments(
    async (log) => (await parts.sidecar.request(OPEN_LOG, log)).text,
  );
  const followers = new Followers(parts.sidecar);
  const logs = lazily(async () => {
    const { LogCommands } = await import("./log_commands.js");
    return new LogCommands(parts, documents, followers);
  });
  return [
    documents,
    followers,
    pausedView(parts),
    new AllWorkersView(parts),
    ...watching(parts),
    ...notifications(parts),
    ...registerCommands(parts, logs, [
      [COMMANDS.openLog, "opening a log", (to, rows) => to.open(rows, "out")],
      [COMMANDS.openErrorLog, "opening a log", (to, rows) => to.open(rows, "err")],
      [COMMANDS.followLog, "following a log", (to, rows) => to.follow(rows)],
      [COMMANDS.stopFollowing, "ending a follower", (to, rows) => to.stopFollowing(rows)],
      [COMMANDS.copyWorkerId, "copying", (to, rows) => to.copyIds(rows)],
      [COMMANDS.searchLogs, "searching logs", (to, rows) => to.search(rows)],
    ]),
  ];
}
