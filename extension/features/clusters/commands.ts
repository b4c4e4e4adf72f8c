/** The commands of the view Clusters; read when the first of them is called. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { withEach } from "../../common/errors";
import type { Store } from "../../common/readable";
import { count, plain } from "../../common/texts";
import { VIEWS } from "../../contributions";
import { isConfirmed } from "../../dialogs";
import type { Row } from "../../panel";
import { AddClusterWizard } from "./add_cluster";
import { ClusterConnector } from "./cluster_connector";
import { askFor } from "./credential_boxes";
import type { CredentialStore } from "./credentials";
import { FORGET_HOST, RECONNECT, REMOVE, type Cluster, type Job, type JobHost } from "./messages";
import { openTerminal } from "./node_terminal";
import { clusterIdOf, hasOwnRoute, jobLabels } from "./rows";

export class ClusterCommands {
  readonly adding: AddClusterWizard;
  private readonly connecting: ClusterConnector;

  /** `shown` gets the addresses that are being connected. */
  constructor(
    private readonly app: App,
    private readonly access: CredentialStore,
    shown: Store<ReadonlySet<string>>,
  ) {
    this.connecting = new ClusterConnector(app, access, shown);
    this.adding = new AddClusterWizard(app, this.connecting);
  }

  /** Without a row of a job (palette, key) it is the list of all that can be added; the cluster that was added last. */
  async connectJob(rows: readonly Row[]): Promise<Cluster | undefined> {
    const jobs = rows.flatMap((row) => (row.row === "job" ? [row.job] : []));
    if (jobs.length === 0) {
      return this.adding.add(undefined);
    }
    let added: Cluster | undefined;
    await withEach(jobs, jobName, async (job) => {
      const title = `Connecting to job ${plain(job.status.job.id)} (${jobLabels(job).label})`;
      added = (await this.connecting.connect(job.address, title)) ?? added;
    });
    return added;
  }

  async forgetHost(rows: readonly Row[]): Promise<void> {
    const named = rows.flatMap((row) => (row.row === "jobHost" ? [row.host] : []));
    const hosts = named.length > 0 ? named : await pickHost(this.app.clusters.value.hosts);
    await withEach(
      hosts,
      ({ host }) => host,
      ({ host }) => this.app.sidecar.request(FORGET_HOST, { host }),
    );
  }

  /** Several at once need a confirmation that names them. */
  async remove(rows: readonly Row[]): Promise<void> {
    const added = this.app.clusters.value.clusters.filter((cluster) => cluster.origin === "added");
    const clusters = await clustersOf(rows, added, "Remove which cluster?");
    const title = `Remove ${clusterNames(clusters)}?`;
    if (clusters.length < 2 || (await isConfirmed(title, namesText(clusters), "Remove"))) {
      await withEach(clusters, nameOf, async ({ id }) => {
        await this.app.sidecar.request(REMOVE, { cluster: id });
        await this.access.forget(id);
      });
    }
  }

  async reconnect(rows: readonly Row[]): Promise<void> {
    const routed = this.app.clusters.value.clusters.filter(hasOwnRoute);
    const clusters = await clustersOf(rows, routed, "Reconnect to which cluster?");
    await withEach(clusters, nameOf, ({ id }) =>
      this.app.sidecar.request(RECONNECT, { cluster: id }),
    );
  }

  /** A dialog shows its text as it is, lines and all. */
  async showMessage(rows: readonly Row[]): Promise<void> {
    const routed = this.app.clusters.value.clusters.filter(hasOwnRoute);
    const clusters = await clustersOf(rows, routed, "The last ssh message of which cluster?");
    if (clusters.length === 0) {
      return;
    }
    const logs = "Show Log";
    const detail = messagesText(clusters);
    const title = `The last message on the way to ${clusterNames(clusters)}`;
    const answer = await vscode.window.showInformationMessage(title, { modal: true, detail }, logs);
    if (answer === logs) {
      this.app.log.show();
    }
  }

  /** Credentials for several clusters are entered once. */
  async give(wanted: "token" | "headers" | "ca_file", rows: readonly Row[]): Promise<void> {
    const { clusters } = this.app.clusters.value;
    const chosen = await clustersOf(rows, clusters, "Of which cluster?");
    if (chosen.length === 0) {
      return;
    }
    const kept = await Promise.all(chosen.map(({ id }) => this.access.of(id)));
    const names = new Set(kept.flatMap(({ headers }) => Object.keys(headers)));
    const change = await askFor(wanted, clusterNames(chosen), [...names]);
    if (change !== undefined) {
      await withEach(chosen, nameOf, async ({ id }) => {
        const { headers } = await this.access.of(id);
        await this.access.set(id, change(headers));
      });
    }
  }

  openTerminal(rows: readonly Row[]): Promise<void> {
    return openTerminal(this.app, rows);
  }

  async refresh(): Promise<void> {
    const progress = { location: { viewId: VIEWS.paused } };
    await vscode.window.withProgress(progress, () => this.app.refresh());
  }

  async copyNextStep(rows: readonly Row[]): Promise<void> {
    const steps = rows.flatMap((row) => (row.row === "problem" ? [row.problem.next_step] : []));
    await vscode.env.clipboard.writeText(steps.join("\n"));
  }
}

function jobName({ status }: Job): string {
  return `job ${status.job.id}`;
}

function nameOf({ name }: Cluster): string {
  return name;
}

/** The name of the only cluster, else their number. */
function clusterNames(clusters: readonly Cluster[]): string {
  const [first] = clusters;
  return first !== undefined && clusters.length === 1
    ? plain(first.name)
    : count(clusters.length, "cluster");
}

function namesText(clusters: readonly Cluster[]): string {
  return clusters.map(({ name }) => plain(name)).join("\n");
}

/** The ssh message of one route, or of several below the names of their clusters. */
function messagesText(clusters: readonly Cluster[]): string {
  const texts = clusters.map((cluster) =>
    clusters.length === 1 ? routeMessage(cluster) : titled(cluster),
  );
  return texts.join("\n\n");
}

function titled(cluster: Cluster): string {
  return `${plain(cluster.name)}\n${routeMessage(cluster)}`;
}

function routeMessage({ route }: Cluster): string {
  const said = (route?.message ?? "").split(/\r?\n/).map((line) => plain(line, 500));
  const text = said.filter((line) => line !== "").join("\n");
  return [route?.sentence ?? "", text === "" ? "Nothing was said." : text].join("\n\n").trim();
}

async function pickHost(hosts: readonly JobHost[]): Promise<JobHost[]> {
  const items = hosts.map((host) => ({ label: plain(host.host), host }));
  const title = "Stop looking for jobs on which host?";
  const picked = await pickOf(items, title, "Jobs are looked for on no other host.");
  return picked === undefined ? [] : [picked.host];
}

/** The clusters of the rows that are among `clusters`, or the one that the user picks. */
async function clustersOf(
  rows: readonly Row[],
  clusters: readonly Cluster[],
  title: string,
): Promise<Cluster[]> {
  const ids = new Set(rows.map(clusterIdOf));
  const named = clusters.filter(({ id }) => ids.has(id));
  if (named.length > 0) {
    return named;
  }
  const items = clusters.map((cluster) => ({ label: plain(cluster.name), cluster }));
  const picked = await pickOf(items, title, "There is no such cluster.");
  return picked === undefined ? [] : [picked.cluster];
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
