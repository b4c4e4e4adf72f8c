/** What the commands of the view Clusters do; read when the first of them is called. */

import * as vscode from "vscode";

import { hasOwnRoute } from "../../common/cluster_rows";
import { clusterIdOf, type Row } from "../../common/rows";
import { plain } from "../../common/texts";
import type { Store } from "../../common/readable";
import { VIEWS } from "../../contributions";
import type { Parts } from "../../parts";
import type { Access } from "./access";
import { askFor } from "./access_boxes";
import { Adding } from "./adding";
import { Connecting } from "./connecting";
import { FORGET_HOST, RECONNECT, REMOVE, type Cluster, type JobHost } from "./messages";
import { jobWords } from "./model";
import { openTerminal } from "./terminals";

export class ClusterCommands {
  readonly adding: Adding;
  private readonly connecting: Connecting;

  /** In `shown` stand the addresses that are just being connected. */
  constructor(
    private readonly parts: Parts,
    private readonly access: Access,
    shown: Store<ReadonlySet<string>>,
  ) {
    this.connecting = new Connecting(parts, access, shown);
    this.adding = new Adding(parts, this.connecting);
  }

  /** Without a row of a job (palette, key) it is the list of all that can be added. */
  async connectJob(rows: readonly Row[]): Promise<Cluster | undefined> {
    const [row] = rows;
    if (row?.row !== "job") {
      return this.adding.add(undefined);
    }
    const { label } = jobWords(row.job);
    const title = `Connecting to job ${plain(row.job.job)} (${label})`;
    return this.connecting.connect(row.job.address, title);
  }

  async forgetHost(rows: readonly Row[]): Promise<void> {
    const { hosts } = this.parts.clusters.value;
    const [row] = rows;
    const host = row?.row === "jobHost" ? row.host : await pickHost(hosts);
    if (host !== undefined) {
      await this.parts.sidecar.request(FORGET_HOST, { host: host.host });
    }
  }

  async remove(rows: readonly Row[]): Promise<void> {
    const added = this.parts.clusters.value.clusters.filter((one) => one.origin === "added");
    const cluster = await clusterOf(rows, added, "Remove which cluster?");
    if (cluster !== undefined) {
      await this.parts.sidecar.request(REMOVE, { cluster: cluster.id });
      await this.access.forget(cluster.id);
    }
  }

  async reconnect(rows: readonly Row[]): Promise<void> {
    const routed = this.parts.clusters.value.clusters.filter(hasOwnRoute);
    const cluster = await clusterOf(rows, routed, "Reconnect to which cluster?");
    if (cluster !== undefined) {
      await this.parts.sidecar.request(RECONNECT, { cluster: cluster.id });
    }
  }

  /** A dialog shows its text as it is, lines and all. */
  async showMessage(rows: readonly Row[]): Promise<void> {
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

  async give(wanted: "token" | "headers" | "ca_file", rows: readonly Row[]): Promise<void> {
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

  openTerminal(rows: readonly Row[]): Promise<void> {
    return openTerminal(this.parts, rows);
  }

  async refresh(): Promise<void> {
    const progress = { location: { viewId: VIEWS.paused } };
    await vscode.window.withProgress(progress, () => this.parts.refresh());
  }

  async copyNextStep(rows: readonly Row[]): Promise<void> {
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
  const id = clusterIdOf(row);
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
