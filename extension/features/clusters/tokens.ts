/** Tokens that the person typed in: kept by the editor, told to the sidecar after each of its starts. */

import type { Memento, SecretStorage } from "vscode";

import type { Sidecar } from "../../sidecar/sidecar";
import { SET_TOKEN } from "./messages";

const CLUSTERS_WITH_TOKENS = "eagleray.clustersWithTokens";

/** The secrets themselves lie in the editor's SecretStorage, which cannot list what it holds. */
export class Tokens {
  constructor(
    private readonly secrets: SecretStorage,
    private readonly remembered: Memento,
    private readonly sidecar: Sidecar,
    private readonly log: (line: string) => void,
  ) {}

  /** Uses `token` for the cluster, and keeps it once the cluster has been told; "" forgets it. */
  async set(cluster: string, token: string): Promise<void> {
    await this.sidecar.request(SET_TOKEN, { cluster, token });
    await this.keep(cluster, token);
  }

  async keep(cluster: string, token: string): Promise<void> {
    if (token === "") {
      await this.forget(cluster);
      return;
    }
    await this.secrets.store(secretName(cluster), token);
    await this.remember([...this.clusters().filter((one) => one !== cluster), cluster]);
  }

  async forget(cluster: string): Promise<void> {
    await this.secrets.delete(secretName(cluster));
    await this.remember(this.clusters().filter((one) => one !== cluster));
  }

  /** Tells the sidecar all of them. */
  async tell(): Promise<void> {
    for (const cluster of this.clusters()) {
      const token = await this.secrets.get(secretName(cluster));
      if (token === undefined) {
        continue;
      }
      try {
        await this.sidecar.request(SET_TOKEN, { cluster, token });
      } catch (error) {
        // A cluster that is gone today may be back tomorrow, so its token stays.
        this.log(`the token of ${cluster} was not taken: ${String(error)}`);
      }
    }
  }

  private clusters(): readonly string[] {
    return this.remembered.get<readonly string[]>(CLUSTERS_WITH_TOKENS) ?? [];
  }

  private async remember(clusters: readonly string[]): Promise<void> {
    await this.remembered.update(CLUSTERS_WITH_TOKENS, clusters);
  }
}

function secretName(cluster: string): string {
  return `eagleray.token ${cluster}`;
}
