/** Lets the person choose one of several waiting workers. */

import { basename } from "node:path";

import * as vscode from "vscode";

import { plain } from "../../common/texts";
import type { PausedWorker } from "../workers/messages";
import { sessionName, targetOf, type Target } from "./model";

/** No question when there is only one; says so when there is none. */
export async function pickWaiting(listed: readonly PausedWorker[]): Promise<Target | undefined> {
  const [only] = listed;
  if (!only) {
    void vscode.window.showInformationMessage("No worker is paused.");
    return undefined;
  }
  if (listed.length === 1) {
    return targetOf(only);
  }
  const items = listed.map((worker) => ({
    label: plain(sessionName(worker.name, worker.rank)),
    description: plain(`${worker.state} · ${worker.node_ip} · pid ${worker.pid}`),
    detail: place(worker),
    target: targetOf(worker),
  }));
  const picked = await vscode.window.showQuickPick(items, {
    placeHolder: "Which paused worker?",
    matchOnDescription: true,
  });
  return picked?.target;
}

function place(worker: PausedWorker): string {
  const at = worker.location;
  return plain(at ? `${basename(at.path)}:${at.line} in ${at.function} ${worker.exception}` : "");
}
