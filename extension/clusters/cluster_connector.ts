/** Connects to a cluster: once at a time for each address, with progress, asking for credentials. */

import * as vscode from "vscode";

import type { App } from "../app";
import { asEaglerayError } from "../common/errors";
import type { Store } from "../common/store";
import { VIEWS } from "../contributions";
import { longWork } from "../dialogs";
import { askedBy, askFor } from "./credential_boxes";
import type { Credentials, CredentialStore } from "./credentials";
import { ADD, type AddCluster, type Cluster } from "./messages";

export class ClusterConnector {
  private readonly running = new Map<string, Promise<Cluster | undefined>>();

  /** `shown` gets the addresses that are being connected. */
  constructor(
    private readonly app: App,
    private readonly access: CredentialStore,
    private readonly shown: Store<ReadonlySet<string>>,
  ) {}

  /**
   * The cluster; undefined when the user cancels.  Calls for the same address share one attempt.  `anyway`: it is
   * added whether or not it answers.
   */
  connect(address: string, title: string, anyway = false): Promise<Cluster | undefined> {
    const known = this.running.get(address);
    if (known !== undefined) {
      return known;
    }
    const connecting = this.work(address, title, anyway).finally(() => {
      this.running.delete(address);
      this.showRunning();
    });
    this.running.set(address, connecting);
    this.showRunning();
    return connecting;
  }

  private showRunning(): void {
    this.shown.set(new Set(this.running.keys()));
  }

  private async work(
    address: string,
    title: string,
    anyway: boolean,
  ): Promise<Cluster | undefined> {
    let given: Partial<Credentials> = {};
    for (;;) {
      try {
        const cluster = await this.add({ address, ...given, ...(anyway && { anyway }) }, title);
        if (Object.keys(given).length > 0) {
          await this.access.store(cluster.id, given);
        }
        return cluster;
      } catch (error) {
        const { code, sentence } = asEaglerayError(error);
        const wanted = askedBy(code);
        if (wanted === undefined) {
          throw error;
        }
        const headers = given.headers ?? {};
        const change = await askFor(wanted, address, Object.keys(headers), sentence);
        if (change === undefined) {
          return undefined;
        }
        given = { ...given, ...change(headers) };
      }
    }
  }

  private async add(cluster: AddCluster, title: string): Promise<Cluster> {
    // The view shows that it works even while the notification is not there yet.
    const location = { viewId: VIEWS.clusters };
    return vscode.window.withProgress({ location }, () =>
      longWork(title, (options) => this.app.sidecar.request(ADD, cluster, options)),
    );
  }
}
