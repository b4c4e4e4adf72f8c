/** The newest lists that the sidecar sent: of clusters, of paused workers, and of profiled runs. */

import type { Disposable } from "./common/disposables";
import { Store } from "./common/readable";
import {
  CHANGED as CLUSTERS_CHANGED,
  LIST as LIST_CLUSTERS,
  REFRESH as REFRESH_CLUSTERS,
  type Clusters,
} from "./features/clusters/messages";
import {
  CHANGED as PROFILED_CHANGED,
  LIST as LIST_PROFILED,
  type ProfiledRuns,
} from "./features/profiling/messages";
import {
  CHANGED as WORKERS_CHANGED,
  REFRESH as REFRESH_WORKERS,
  type Snapshot,
} from "./features/workers/messages";
import type { Sidecar } from "./sidecar/sidecar";

/**
 * Follows the sidecar's notifications, and asks anew after each start of it: what stood there before
 * may not be true any more, and nothing says so when nothing changes afterwards.  While the sidecar is
 * down the last lists stay, since the workers go on being paused.
 */
export class Lists implements Disposable {
  readonly clusters = new Store<Clusters>({ clusters: [], hints: [], jobs: [], hosts: [] });
  readonly paused = new Store<Snapshot>({ groups: [], paused: 0, held: 0 });
  readonly profiled = new Store<ProfiledRuns>({ runs: [] });
  private readonly listening: readonly Disposable[];

  constructor(
    private readonly sidecar: Sidecar,
    private readonly log: (line: string) => void,
  ) {
    this.listening = [
      sidecar.onNotification(CLUSTERS_CHANGED, (value) => {
        this.clusters.set(value);
      }),
      sidecar.onNotification(WORKERS_CHANGED, (value) => {
        this.paused.set(value);
      }),
      sidecar.onNotification(PROFILED_CHANGED, (value) => {
        this.profiled.set(value);
      }),
      sidecar.onStarted(() => void this.askAnew()),
    ];
  }

  /** Looks for clusters and at all of them now; rejects with an error of the catalogue. */
  async refresh(): Promise<void> {
    this.clusters.set(await this.sidecar.request(REFRESH_CLUSTERS, {}));
    this.paused.set(await this.sidecar.request(REFRESH_WORKERS, {}));
  }

  dispose(): void {
    for (const one of this.listening) {
      one.dispose();
    }
  }

  private async askAnew(): Promise<void> {
    try {
      this.clusters.set(await this.sidecar.request(LIST_CLUSTERS, {}));
      this.paused.set(await this.sidecar.request(REFRESH_WORKERS, {}));
      this.profiled.set(await this.sidecar.request(LIST_PROFILED, {}));
    } catch (error) {
      // The person asked for nothing; the next notification brings the lists.
      this.log(`the lists could not be asked for: ${String(error)}`);
    }
  }
}
