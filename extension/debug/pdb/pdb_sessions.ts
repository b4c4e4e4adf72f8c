/** Opens one of the waiting pdb sessions in a terminal; read at the first use. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { noCluster } from "../../common/errors";
import { dotted, duration, plain } from "../../common/texts";
import { longWork } from "../../dialogs";
import type { Row } from "../../rows";
import { askForTrust } from "../../workspace";
import { clusterIdOf } from "../../rows";
import { LIST, TERMINAL, type PdbSession } from "./messages";

export async function openSession(app: App, rows: readonly Row[]): Promise<void> {
  if (!vscode.workspace.isTrusted) {
    await askForTrust(vscode.l10n.t("Trust this workspace to open terminals."));
    return;
  }
  const session = await chosenSession(app, await clustersOf(app, rows));
  if (session === undefined) {
    return;
  }
  const { cluster, id } = session;
  const { title, argv, env } = await app.sidecar.request(TERMINAL, { cluster, id });
  const [shellPath = "", ...shellArgs] = argv;
  // Not brought back by the next window: the session waits for one connection and is over when that ends.
  const options = { name: plain(title), shellPath, shellArgs, env, isTransient: true };
  vscode.window.createTerminal(options).show();
}

/** The cluster of the row, else all of them; a window without any may not have queried for them yet. */
async function clustersOf(app: App, rows: readonly Row[]): Promise<readonly string[]> {
  const named = rows.map(clusterIdOf).filter((id) => id !== undefined);
  if (named.length > 0) {
    return named;
  }
  if (app.clusters.value.clusters.length === 0) {
    await app.refresh();
  }
  const { clusters } = app.clusters.value;
  if (clusters.length === 0) {
    throw noCluster();
  }
  return clusters.map(({ id }) => id);
}

/** The session that the user picks; a cluster that doesn't answer has a row with the reason. */
async function chosenSession(
  app: App,
  clusters: readonly string[],
): Promise<PdbSession | undefined> {
  const results = await longWork(vscode.l10n.t("Searching for pdb sessions"), (options) =>
    Promise.allSettled(clusters.map((cluster) => app.sidecar.request(LIST, { cluster }, options))),
  );
  const answers = results.flatMap((result) =>
    result.status === "fulfilled" ? [result.value] : [],
  );
  const failed = results.find((result) => result.status === "rejected");
  const sessions = answers.flatMap((answer) => answer.sessions);
  if (sessions.length === 0) {
    if (failed !== undefined && answers.length === 0) {
      throw failed.reason;
    }
    const note =
      answers.find((answer) => answer.note !== "")?.note ??
      vscode.l10n.t("No worker waits in pdb.");
    void vscode.window.showInformationMessage(plain(note, 300));
    return undefined;
  }
  const items = sessions.map((session) => ({
    label: plain(`${session.file.slice(session.file.lastIndexOf("/") + 1)}:${session.line}`),
    description: plain(
      dotted(
        session.name,
        session.error,
        session.node,
        vscode.l10n.t("pid {0}", session.pid),
        sinceOf(session),
      ),
    ),
    detail: plain(session.file),
    session,
  }));
  const title = vscode.l10n.t("Select a pdb session");
  return (await vscode.window.showQuickPick(items, { title, matchOnDescription: true }))?.session;
}

function sinceOf({ since }: PdbSession): string {
  return duration(Date.now() / 1000 - since);
}
