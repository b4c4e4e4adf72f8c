/** The notification that says for the first time that workers are paused. */

import * as vscode from "vscode";

import type { Disposable } from "../../common/disposables";
import { COMMANDS } from "../../contributions";
import type { Parts } from "../../parts";
import { setting } from "../../settings";
import { Announcer, type Announcement } from "./announcing";
import type { Snapshot } from "./messages";
import type { WorkerRow } from "./rows";

/** The workers of a group reach their breakpoint() one after another: one notification speaks of them all. */
const GATHER_MS = 1_000;

export function notifications(parts: Parts): Disposable[] {
  const announcer = new Announcer();
  let timer: NodeJS.Timeout | undefined;
  const announce = (): void => {
    timer = undefined;
    const snapshot = without(parts.paused.value, parts.broughtUp.value);
    const announcement = announcer.next(snapshot, parts.clusters.value);
    // Who attaches by itself needs no invitation.
    if (announcement !== undefined && setting("autoAttach") === "off") {
      void offer(announcement);
    }
  };
  return [
    parts.paused.onChanged(({ paused }) => {
      if (paused > 0) {
        timer ??= setTimeout(announce, GATHER_MS);
      }
    }),
    {
      dispose: () => {
        clearTimeout(timer);
      },
    },
  ];
}

/** The list without workers that come to the front anyway. */
function without(snapshot: Snapshot, workers: ReadonlySet<string>): Snapshot {
  const groups = snapshot.groups.map((group) => ({
    ...group,
    workers: group.workers.filter((worker) => !workers.has(worker.worker_id)),
  }));
  return { ...snapshot, groups };
}

async function offer({ sentence, worker, group }: Announcement): Promise<void> {
  const attach = "Attach";
  const show = "Show Panel";
  const answer = await vscode.window.showInformationMessage(sentence, attach, show);
  if (answer === attach) {
    const row: WorkerRow = { row: "worker", worker, group: { row: "group", ...group } };
    await vscode.commands.executeCommand(COMMANDS.attach, row);
  } else if (answer === show) {
    await vscode.commands.executeCommand(COMMANDS.showPanel);
  }
}
