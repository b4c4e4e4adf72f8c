/** Workers: the paused ones, all of them, and their logs. */

import * as vscode from "vscode";

import type { Disposable } from "../../common/disposables";
import { workersOf } from "../../common/rows";
import { COMMANDS } from "../../contributions";
import type { Parts } from "../../parts";
import { AllWorkersView } from "./all_view";
import { Followers } from "./following";
import { LogCommands } from "./log_commands";
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
  return [
    documents,
    followers,
    pausedView(parts),
    new AllWorkersView(parts),
    ...watching(parts),
    ...notifications(parts),
    ...new LogCommands(parts, documents, followers).register(),
    vscode.commands.registerCommand(COMMANDS.copyWorkerId, async (...args: unknown[]) => {
      const ids = workersOf(parts.selection.of(args)).map((worker) => worker.worker_id);
      await vscode.env.clipboard.writeText(ids.join("\n"));
    }),
  ];
}
