/** The commands of the view Clusters; read when the first of them is called. */

import * as vscode from "vscode";

import type { App } from "../app";
import { withEach } from "../common/errors";
import type { Store } from "../common/store";
import { plain } from "../common/texts";
import { VIEWS } from "../contributions";
import { isConfirmed, longWork, showPrinted } from "../dialogs";
import type { Row } from "../rows";
import { AddClusterWizard } from "./add_cluster";
import { connectingToJob } from "./choices";
import { ClusterConnector } from "./cluster_connector";
import { askFor } from "./credential_boxes";
import type { Credentials, CredentialStore } from "./credentials";
import {
  ADD,
  DASHBOARD,
  FORGET_HOST,
  LOOK_AT,
  RECONNECT,
  REMOVE,
  RENAME,
  type Cluster,
  type DashboardPage,
  type Job,
  type JobHost,
} from "./messages";
import { openTerminal } from "./node_terminal";
import { hasOwnRoute } from "./rows";
import { clusterIdOf } from "../rows";

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
      added = (await this.connecting.connect(job.address, connectingToJob(job))) ?? added;
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
    const names = hosts.map(({ host }) => host);
    this.offerUndo(plain(names.join(", ")), hosts.length, async () => {
      await withEach(
        names,
        (host) => host,
        (host) => this.app.sidecar.request(LOOK_AT, { host }),
      );
    });
  }

  /** Several at once need a confirmation that names them; what was removed can be restored. */
  async remove(rows: readonly Row[]): Promise<void> {
    const added = this.app.clusters.value.clusters.filter((cluster) => cluster.origin === "added");
    const clusters = await clustersOf(rows, added, vscode.l10n.t("Remove which cluster?"));
    const title = vscode.l10n.t("Remove {0}?", clusterNames(clusters));
    if (
      clusters.length > 1 &&
      !(await isConfirmed(title, namesText(clusters), vscode.l10n.t("Remove")))
    ) {
      return;
    }
    const removed: RemovedCluster[] = [];
    await withEach(clusters, nameOf, async (cluster) => {
      const credentials = await this.access.of(cluster.id);
      await this.app.sidecar.request(REMOVE, { cluster: cluster.id });
      await this.access.forget(cluster.id);
      removed.push({ cluster, credentials });
    });
    this.offerUndo(clusterNames(clusters), removed.length, () => this.restore(removed));
  }

  /** Without a check that they answer: they may have been removed because they don't. */
  private async restore(removed: readonly RemovedCluster[]): Promise<void> {
    await withEach(
      removed,
      ({ cluster }) => cluster.name,
      async ({ cluster: { id, name }, credentials }) => {
        await this.app.sidecar.request(ADD, { address: id, anyway: true, ...credentials });
        await this.access.store(id, credentials);
        await this.app.sidecar.request(RENAME, { cluster: id, name });
      },
    );
  }

  /** Waits for no answer. */
  private offerUndo(names: string, count: number, undo: () => Promise<void>): void {
    if (count === 0) {
      return;
    }
    const title = vscode.l10n.t("Undo");
    void vscode.window
      .showInformationMessage(vscode.l10n.t("Removed {0}.", names), title)
      .then((answer) => {
        if (answer === title) {
          void this.app.errors.shown("restoring", undo);
        }
      });
  }

  /** In a browser of the user's machine, also where the editor works on another one. */
  async openDashboard(rows: readonly Row[]): Promise<void> {
    const { clusters } = this.app.clusters.value;
    const chosen = await clustersOf(
      rows,
      clusters,
      vscode.l10n.t("Open the dashboard of which cluster?"),
    );
    await withEach(chosen, nameOf, async (cluster) => {
      const title = vscode.l10n.t("Opening the dashboard of {0}", plain(cluster.name));
      const page = await longWork(title, (options) =>
        this.app.sidecar.request(DASHBOARD, { cluster: cluster.id }, options),
      );
      const uri = await vscode.env.asExternalUri(vscode.Uri.parse(page.url, true));
      await vscode.env.openExternal(uri);
      const note = accessNote(cluster, page);
      if (note !== undefined) {
        void vscode.window.showInformationMessage(note);
      }
    });
  }

  /** The addresses as “Connect to Cluster…” takes them. */
  async copyAddress(rows: readonly Row[]): Promise<void> {
    const { clusters } = this.app.clusters.value;
    const chosen = await clustersOf(
      rows,
      clusters,
      vscode.l10n.t("Copy the address of which cluster?"),
    );
    if (chosen.length > 0) {
      await vscode.env.clipboard.writeText(chosen.map(({ id }) => id).join("\n"));
    }
  }

  async rename(rows: readonly Row[]): Promise<void> {
    const { clusters } = this.app.clusters.value;
    const [cluster] = await clustersOf(rows, clusters, vscode.l10n.t("Rename which cluster?"));
    if (cluster === undefined) {
      return;
    }
    const name = await vscode.window.showInputBox({
      title: vscode.l10n.t("Rename {0}", plain(cluster.name)),
      prompt: vscode.l10n.t("Leave empty to restore the original name."),
      value: cluster.name,
      validateInput: (text) =>
        text.trim().length > LONGEST_NAME
          ? vscode.l10n.t("Enter at most {0} characters.", LONGEST_NAME)
          : undefined,
    });
    if (name !== undefined) {
      await this.app.sidecar.request(RENAME, { cluster: cluster.id, name: name.trim() });
    }
  }

  async reconnect(rows: readonly Row[]): Promise<void> {
    const all = this.app.clusters.value.clusters;
    const clusters = await clustersOf(rows, all, vscode.l10n.t("Reconnect to which cluster?"));
    await withEach(clusters, nameOf, ({ id }) =>
      this.app.sidecar.request(RECONNECT, { cluster: id }),
    );
  }

  async showSshLog(rows: readonly Row[]): Promise<void> {
    const [row] = rows;
    if (row?.row === "problem" && row.problem.output !== "") {
      return showPrinted(row.problem.message, row.problem.output, this.app.log);
    }
    const routed = this.app.clusters.value.clusters.filter(hasOwnRoute);
    const clusters = await clustersOf(
      rows,
      routed,
      vscode.l10n.t("Show the SSH log of which cluster?"),
    );
    if (clusters.length === 0) {
      return;
    }
    const title = vscode.l10n.t("SSH log of {0}", clusterNames(clusters));
    await showPrinted(title, messagesText(clusters), this.app.log);
  }

  /** Credentials for several clusters are entered once. */
  async give(wanted: "token" | "headers" | "ca_file", rows: readonly Row[]): Promise<void> {
    const { clusters } = this.app.clusters.value;
    const chosen = await clustersOf(rows, clusters, vscode.l10n.t("Select a cluster"));
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

/** As many as the sidecar keeps. */
const LONGEST_NAME = 60;

/** The data needed to restore a cluster. */
interface RemovedCluster {
  readonly cluster: Cluster;
  readonly credentials: Credentials;
}

/** A browser gets no credentials from us: they would be in its address. */
function accessNote({ name }: Cluster, { asks_for }: DashboardPage): string | undefined {
  switch (asks_for) {
    case "token":
      return vscode.l10n.t("{0} requires a token. Enter it in the browser.", plain(name));
    case "headers":
      return vscode.l10n.t(
        "{0} requires headers, which the browser doesn't send. Sign in there.",
        plain(name),
      );
    case "nothing":
      return undefined;
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
    : vscode.l10n.t("{0} clusters", clusters.length);
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
  const text = (route?.message ?? "").trim();
  return [route?.sentence ?? "", text === "" ? vscode.l10n.t("No message.") : text]
    .join("\n\n")
    .trim();
}

async function pickHost(hosts: readonly JobHost[]): Promise<JobHost[]> {
  const items = hosts.map((host) => ({ label: plain(host.host), host }));
  const title = vscode.l10n.t("Remove which SLURM login node?");
  const picked = await pickOf(items, title, vscode.l10n.t("You haven't added a SLURM login node."));
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
  const picked = await pickOf(
    items,
    title,
    vscode.l10n.t("No such cluster. Connect to one first."),
  );
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
