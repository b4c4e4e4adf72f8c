/** The credentials of clusters: stored by the editor, sent to the sidecar after each of its starts. */

import type { Memento, SecretStorage } from "vscode";

import type { Sidecar } from "../sidecar/sidecar";
import { SET_ACCESS } from "./messages";

/** A token, headers (a proxy's, say), the file of a private certificate authority; "" and {} are none. */
export interface Credentials {
  readonly token: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly ca_file: string;
}

const NONE: Credentials = { token: "", headers: {}, ca_file: "" };

const CLUSTERS = "eagleray.clustersWithCredentials";

/**
 * Tokens and headers lie in the editor's SecretStorage, which cannot list what it holds before VS Code 1.105
 * (microsoft/vscode#196616), so the ids of their clusters are remembered beside it.
 */
export class CredentialStore {
  constructor(
    private readonly secrets: SecretStorage,
    private readonly remembered: Memento,
    private readonly sidecar: Sidecar,
    private readonly log: (line: string) => void,
  ) {}

  /** The stored credentials of the cluster. */
  async of(cluster: string): Promise<Credentials> {
    const kept = await this.secrets.get(secretName(cluster));
    return kept === undefined ? NONE : { ...NONE, ...(JSON.parse(kept) as Partial<Credentials>) };
  }

  /** Sends `changes` to the sidecar, then stores them. */
  async set(cluster: string, changes: Partial<Credentials>): Promise<void> {
    await this.sidecar.request(SET_ACCESS, { cluster, ...changes });
    await this.store(cluster, changes);
  }

  async store(cluster: string, changes: Partial<Credentials>): Promise<void> {
    const all = { ...(await this.of(cluster)), ...changes };
    if (all.token === "" && all.ca_file === "" && Object.keys(all.headers).length === 0) {
      await this.forget(cluster);
      return;
    }
    await this.secrets.store(secretName(cluster), JSON.stringify(all));
    await this.remember([...this.clusters().filter((id) => id !== cluster), cluster]);
  }

  async forget(cluster: string): Promise<void> {
    await this.secrets.delete(secretName(cluster));
    await this.remember(this.clusters().filter((id) => id !== cluster));
  }

  /** Sends all credentials to the sidecar. */
  async sendAll(): Promise<void> {
    for (const cluster of this.clusters()) {
      try {
        await this.sidecar.request(SET_ACCESS, { cluster, ...(await this.of(cluster)) });
      } catch (error) {
        // A cluster that is gone today may be back tomorrow, so what it asks for stays.
        this.log(`the credentials of ${cluster} were not taken: ${String(error)}`);
      }
    }
  }

  private clusters(): readonly string[] {
    return this.remembered.get<readonly string[]>(CLUSTERS) ?? [];
  }

  private async remember(clusters: readonly string[]): Promise<void> {
    await this.remembered.update(CLUSTERS, clusters);
  }
}

function secretName(cluster: string): string {
  return `eagleray.credentials ${cluster}`;
}
