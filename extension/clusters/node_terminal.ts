/** “Open Terminal on Node”: a shell where a worker runs. */

import * as vscode from "vscode";

import type { App } from "../app";
import { noCluster, withEach } from "../common/errors";
import { plain } from "../common/texts";
import { longWork } from "../dialogs";
import type { Row } from "../rows";
import { askForTrust } from "../workspace";
import { TERMINAL, type TerminalRef } from "./messages";

/** The nodes of rows, each once. */
export function nodesOf(rows: readonly Row[]): TerminalRef[] {
  const nodes = rows.map(nodeOf).filter((node) => node !== undefined);
  return [...new Map(nodes.map((node) => [nodeName(node), node])).values()];
}

/** The node of a worker, of a group on one node, or the head node of a cluster. */
function nodeOf(row: Row): TerminalRef | undefined {
  switch (row.row) {
    case "cluster":
    case "empty":
      return { cluster: row.cluster.id, node_id: "" };
    case "worker":
    case "anyWorker":
      return { cluster: row.worker.cluster, node_id: row.worker.node_id };
    case "group":
    case "anyGroup":
    case "node": {
      const nodes = new Set(row.workers.map((worker) => worker.node_id));
      const [node_id] = nodes;
      return node_id !== undefined && nodes.size === 1
        ? { cluster: row.cluster, node_id }
        : undefined;
    }
    default:
      return undefined;
  }
}

export async function openTerminal(app: App, rows: readonly Row[]): Promise<void> {
  // The menu is disabled, but keys and other extensions can call the command.
  if (!vscode.workspace.isTrusted) {
    await askForTrust(vscode.l10n.t("Trust this workspace to open terminals."));
    return;
  }
  const named = nodesOf(rows);
  await withEach(named.length > 0 ? named : await chooseHead(app), nodeName, (node) =>
    openOn(app, node),
  );
}

async function openOn(app: App, node: TerminalRef): Promise<void> {
  const { title, argv, env } = await longWork(vscode.l10n.t("Opening a terminal"), (options) =>
    app.sidecar.request(TERMINAL, node, options),
  );
  const [shellPath = "", ...shellArgs] = argv;
  // Not restored by the next window: the node may belong to another user by then.
  const options = { name: plain(title), shellPath, shellArgs, env, isTransient: true };
  vscode.window.createTerminal(options).show();
}

async function chooseHead(app: App): Promise<TerminalRef[]> {
  const { clusters } = app.clusters.value;
  const items = clusters.map(({ id, name }) => ({ label: plain(name), id }));
  if (items.length === 0) {
    throw noCluster();
  }
  const title = vscode.l10n.t("Select the cluster for the terminal");
  const picked = await vscode.window.showQuickPick(items, { title });
  return picked === undefined ? [] : [{ cluster: picked.id, node_id: "" }];
}

function nodeName({ cluster, node_id }: TerminalRef): string {
  return `${cluster} ${node_id}`.trim();
}
