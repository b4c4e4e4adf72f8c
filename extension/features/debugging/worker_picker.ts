/** Lets the user pick one of several waiting workers. */

import { basename } from "node:path";

import * as vscode from "vscode";

import type { App } from "../../app";
import { plain } from "../../common/texts";
import type { PausedWorker } from "../workers/messages";
import { sessionName, targetOf, waiting, type Target } from "./model";

/** The waiting workers that `fit`; where none is known, all clusters are queried first. */
export async function waitingNow(
  app: App,
  fit: (worker: PausedWorker) => boolean = () => true,
): Promise<readonly PausedWorker[]> {
  const known = waiting(app.paused.value).filter(fit);
  if (known.length > 0) {
    return known;
  }
  const location = vscode.ProgressLocation.Window;
  const title = "Looking for paused workers";
  await vscode.window.withProgress({ location, title }, () => app.refresh());
  return waiting(app.paused.value).filter(fit);
}

/** Asks only when there are several; shows a message when there is none. */
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
