/** The commands of the view Clusters. */

import * as vscode from "vscode";

import { EaglerayError } from "../../common/errors";
import type { Disposable } from "../../common/disposables";
import type { Row } from "../../common/rows";
import { plain } from "../../common/texts";
import { COMMANDS, VIEWS } from "../../contributions";
import type { Parts } from "../../parts";
import { ADD, REMOVE, type Cluster } from "./messages";
import { addressProblem } from "./model";
import type { Tokens } from "./tokens";

const TOKEN_ERRORS = ["token-needed", "token-refused"];

export class ClusterCommands {
  constructor(
    private readonly parts: Parts,
    private readonly tokens: Tokens,
  ) {}

  register(): Disposable[] {
    const { errors, selection } = this.parts;
    const on = (
      id: string,
      doing: string,
      work: (args: unknown[]) => Promise<unknown>,
    ): Disposable =>
      vscode.commands.registerCommand(id, (...args: unknown[]) =>
        errors.shown(doing, () => work(args)),
      );
    return [
      on(COMMANDS.addCluster, "adding a cluster", ([address]) => this.add(address)),
      on(COMMANDS.removeCluster, "removing a cluster", (args) => this.remove(selection.of(args))),
      on(COMMANDS.setToken, "setting a token", (args) => this.setToken(selection.of(args))),
      on(COMMANDS.refresh, "refreshing", () => this.refresh()),
      on(COMMANDS.copyNextStep, "copying", (args) => this.copyNextStep(selection.of(args))),
    ];
  }

  /** Scripts may give the address; a person is asked for it. */
  private async add(given: unknown): Promise<Cluster | undefined> {
    const address = typeof given === "string" ? given : await askAddress();
    if (address === undefined) {
      return undefined;
    }
    try {
      return await this.addWith(address.trim(), undefined);
    } catch (error) {
      if (!(error instanceof EaglerayError) || !TOKEN_ERRORS.includes(error.code)) {
        throw error;
      }
    }
    const token = await askToken(address);
    return token === undefined ? undefined : this.addWith(address.trim(), token);
  }

  private async addWith(address: string, token: string | undefined): Promise<Cluster> {
    const progress = { location: { viewId: VIEWS.clusters } };
    const params = token === undefined ? { address } : { address, token };
    const cluster = await vscode.window.withProgress(progress, () =>
      this.parts.sidecar.request(ADD, params),
    );
    if (token !== undefined) {
      await this.tokens.keep(cluster.id, token);
    }
    return cluster;
  }

  private async remove(rows: readonly Row[]): Promise<void> {
    const added = this.parts.clusters.value.clusters.filter((one) => one.origin === "added");
    const cluster = await clusterOf(rows, added, "Remove which cluster?");
    if (cluster !== undefined) {
      await this.parts.sidecar.request(REMOVE, { cluster: cluster.id });
      await this.tokens.forget(cluster.id);
    }
  }

  private async setToken(rows: readonly Row[]): Promise<void> {
    const { clusters } = this.parts.clusters.value;
    const cluster = await clusterOf(rows, clusters, "Set the token of which cluster?");
    const token = cluster && (await askToken(cluster.name));
    if (cluster !== undefined && token !== undefined) {
      await this.tokens.set(cluster.id, token);
    }
  }

  private async refresh(): Promise<void> {
    const progress = { location: { viewId: VIEWS.paused } };
    await vscode.window.withProgress(progress, () => this.parts.refresh());
  }

  private async copyNextStep(rows: readonly Row[]): Promise<void> {
    const steps = rows.flatMap((row) => (row.row === "problem" ? [row.problem.next_step] : []));
    await vscode.env.clipboard.writeText(steps.join("\n"));
  }
}

function askAddress(): Thenable<string | undefined> {
  return vscode.window.showInputBox({
    title: "Add a Ray cluster",
    prompt: "The address of its dashboard",
    placeHolder: "8265, host:8265 or http(s)://…",
    validateInput: addressProblem,
    ignoreFocusOut: true,
  });
}

/** An empty answer forgets the token; Escape changes nothing. */
function askToken(cluster: string): Thenable<string | undefined> {
  return vscode.window.showInputBox({
    title: `Token of ${plain(cluster)}`,
    prompt: "Kept by the editor, and sent only to this cluster. Leave it empty to forget it.",
    password: true,
    ignoreFocusOut: true,
  });
}

/** The cluster of the row, the only one there is, or the one that the person picks. */
async function clusterOf(
  rows: readonly Row[],
  clusters: readonly Cluster[],
  title: string,
): Promise<Cluster | undefined> {
  const [row] = rows;
  const id = row?.row === "cluster" ? row.cluster.id : undefined;
  const known = clusters.find((cluster) => cluster.id === id);
  if (known !== undefined) {
    return known;
  }
  const items = clusters.map((cluster) => ({ label: plain(cluster.name), cluster }));
  if (items.length === 0) {
    void vscode.window.showInformationMessage("There is no such cluster.");
  }
  return items.length === 0
    ? undefined
    : (await vscode.window.showQuickPick(items, { title }))?.cluster;
}
