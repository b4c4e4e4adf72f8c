/** The commands of the view Clusters. */

import * as vscode from "vscode";

import { hasOwnRoute } from "../../common/cluster_rows";
import type { Disposable } from "../../common/disposables";
import type { Row } from "../../common/rows";
import { plain } from "../../common/texts";
import { COMMANDS, VIEWS, type CommandId } from "../../contributions";
import type { Parts } from "../../parts";
import type { Access } from "./access";
import { askFor } from "./access_boxes";
import type { Adding } from "./adding";
import type { Connecting } from "./connecting";
import { FORGET_HOST, RECONNECT, REMOVE, type Cluster, type JobHost } from "./messages";
import { jobWords } from "./model";
import { openTerminal } from "./terminals";

type Work = (rows: readonly Row[], args: readonly unknown[]) => Promise<unknown>;

export class ClusterCommands {
  constructor(
    private readonly parts: Parts,
    private readonly access: Access,
    private readonly connecting: Connecting,
    private readonly adding: Adding,
  ) {}

  register(): Disposable[] {
    const { errors, selection } = this.parts;
    const on = (id: CommandId, doing: string, work: Work): Disposable =>
      vscode.commands.registerCommand(id, (...args: unknown[]) =>
        errors.shown(doing, () => work(selection.of(args), args)),
      );
    return [
      on(COMMANDS.addCluster, "adding a cluster", (_, [address]) => this.adding.add(address)),
      on(COMMANDS.connectJob, "connecting to a job", (rows) => this.connectJob(rows)),
      on(COMMANDS.lookForJobs, "looking for jobs", () => this.adding.lookForJobs(undefined)),
      on(COMMANDS.forgetHost, "forgetting a host", (rows) => this.forgetHost(rows)),
      on(COMMANDS.removeCluster, "removing a cluster", (rows) => this.remove(rows)),
      on(COMMANDS.reconnect, "reconnecting", (rows) => this.reconnect(rows)),
      on(COMMANDS.showRouteMessage, "showing a message", (rows) => this.showMessage(rows)),
      on(COMMANDS.setToken, "setting a token", (rows) => this.give("token", rows)),
      on(COMMANDS.setHeaders, "setting headers", (rows) => this.give("headers", rows)),
      on(COMMANDS.setCertificates, "setting certificates", (rows) => this.give("ca_file", rows)),
      on(COMMANDS.openTerminal, "opening a terminal", (rows) => openTerminal(this.parts, rows)),
      on(COMMANDS.refresh, "refreshing", () => this.refresh()),
      on(COMMANDS.copyNextStep, "copying", (rows) => this.copyNextStep(rows)),
    ];
  }

  /** Without a row of a job (palette, key) it is the list of all that can be added. */
  private async connectJob(rows: readonly Row[]): Promise<Cluster | undefined> {
    const [row] = rows;
    if (row?.row !== "job") {
      return this.adding.add(undefined);
    }
    const { label } = jobWords(row.job);
    const title = `Connecting to job ${plain(row.job.job)} (${label})`;
    return this.connecting.connect(row.job.address, title);
  }

  private async forgetHost(rows: readonly Row[]): Promise<void> {
    const { hosts } = this.parts.clusters.value;
    const [row] = rows;
    const host = row?.row === "jobHost" ? row.host : await pickHost(hosts);
    if (host !== undefined) {
      await this.parts.sidecar.request(FORGET_HOST, { host: host.host });
    }
  }

  private async remove(rows: readonly Row[]): Promise<void> {
    const added = this.parts.clusters.value.clusters.filter((one) => one.origin === "added");
    const cluster = await clusterOf(rows, added, "Remove which cluster?");
    if (cluster !== undefined) {
      await this.parts.sidecar.request(REMOVE, { cluster: cluster.id });
      await this.access.forget(cluster.id);
    }
  }

  private async reconnect(rows: readonly Row[]): Promise<void> {
    const routed = this.parts.clusters.value.clusters.filter(hasOwnRoute);
    const cluster = await clusterOf(rows, routed, "Reconnect to which cluster?");
    if (cluster !== undefined) {
      await this.parts.sidecar.request(RECONNECT, { cluster: cluster.id });
    }
  }

  /** A dialog shows its text as it is, lines and all. */
  private async showMessage(rows: readonly Row[]): Promise<void> {
    const routed = this.parts.clusters.value.clusters.filter(hasOwnRoute);
    const cluster = await clusterOf(rows, routed, "The last ssh message of which cluster?");
    if (cluster === undefined) {
      return;
    }
    const logs = "Show Logs";
    const detail = routeMessage(cluster);
    const title = `The last message on the way to ${plain(cluster.name)}`;
    const answer = await vscode.window.showInformationMessage(title, { modal: true, detail }, logs);
    if (answer === logs) {
      this.parts.log.show();
    }
  }

  private async give(wanted: "token" | "headers" | "ca_file", rows: readonly Row[]): Promise<void> {
    const { clusters } = this.parts.clusters.value;
    const cluster = await clusterOf(rows, clusters, "Of which cluster?");
    if (cluster === undefined) {
      return;
    }
    const { headers } = await this.access.of(cluster.id);
    const given = await askFor(wanted, cluster.name, headers);
    if (given !== undefined) {
      await this.access.set(cluster.id, given);
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

function routeMessage({ route }: Cluster): string {
  const said = (route?.message ?? "").split(/\r?\n/).map((line) => plain(line, 500));
  const text = said.filter((line) => line !== "").join("\n");
  return [route?.sentence ?? "", text === "" ? "Nothing was said." : text].join("\n\n").trim();
}

async function pickHost(hosts: readonly JobHost[]): Promise<JobHost | undefined> {
  const items = hosts.map((host) => ({ label: plain(host.host), host }));
  const title = "Stop looking for jobs on which host?";
  return (await pickOf(items, title, "Jobs are looked for on no other host."))?.host;
}

/** The cluster of the row, or the one that the person picks. */
async function clusterOf(
  rows: readonly Row[],
  clusters: readonly Cluster[],
  title: string,
): Promise<Cluster | undefined> {
  const [row] = rows;
  const id = row?.row === "cluster" || row?.row === "empty" ? row.cluster.id : undefined;
  const known = clusters.find((cluster) => cluster.id === id);
  if (known !== undefined) {
    return known;
  }
  const items = clusters.map((cluster) => ({ label: plain(cluster.name), cluster }));
  return (await pickOf(items, title, "There is no such cluster."))?.cluster;
}

async function pickOf<T extends vscode.QuickPickItem>(
  items: readonly T[],
  title: string,
  none: string,
): Promise<T | undefined> {
  if (items.length === 0) {
    void vscode.window.showInformationMessage(none);
    return undefined;
  }
  return vscode.window.showQuickPick([...items], { title });
}
