/** “Open Terminal on This Node”: a shell of one's own where a worker runs. */

import * as vscode from "vscode";

import { noCluster } from "../../common/errors";
import type { Row } from "../../common/rows";
import { plain } from "../../common/texts";
import { longWork } from "../../long_work";
import type { Parts } from "../../parts";
import { TERMINAL, type TerminalRef } from "./messages";

/** The node that rows stand for: that of a worker, of a group that runs on one node, or a cluster's head. */
export function nodeOf(rows: readonly Row[]): TerminalRef | undefined {
  const [row] = rows;
  switch (row?.row) {
    case "cluster":
    case "empty":
      return { cluster: row.cluster.id, node_id: "" };
    case "worker":
    case "anyWorker":
      return { cluster: row.worker.cluster, node_id: row.worker.node_id };
    case "group":
    case "anyGroup": {
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

export async function openTerminal(parts: Parts, rows: readonly Row[]): Promise<void> {
  // The menu is greyed out, but keys and other extensions can call the command all the same.
  if (!vscode.workspace.isTrusted) {
    void vscode.window.showInformationMessage("A terminal is opened only in a trusted workspace.");
    return;
  }
  const node = nodeOf(rows) ?? (await chooseHead(parts));
  if (node === undefined) {
    return;
  }
  const { title, argv, env } = await longWork("Opening a terminal", (options) =>
    parts.sidecar.request(TERMINAL, node, options),
  );
  const [shellPath = "", ...shellArgs] = argv;
  // Not brought back by the next window: the node may be somebody else's by then.
  const options = { name: plain(title), shellPath, shellArgs, env, isTransient: true };
  vscode.window.createTerminal(options).show();
}

async function chooseHead(parts: Parts): Promise<TerminalRef | undefined> {
  const { clusters } = parts.clusters.value;
  const items = clusters.map(({ id, name }) => ({ label: plain(name), id }));
  if (items.length === 0) {
    throw noCluster();
  }
  const title = "A terminal on the head node of which cluster?";
  const picked = await vscode.window.showQuickPick(items, { title });
  return picked && { cluster: picked.id, node_id: "" };
}
