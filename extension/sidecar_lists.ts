/** The newest lists that the sidecar sent: clusters, paused workers, runs, and profiled runs. */

import type { Verbatim } from "./common/texts";
import type { Disposable } from "./common/disposables";
import { Store } from "./common/store";
import {
  CHANGED as CLUSTERS_CHANGED,
  LIST as LIST_CLUSTERS,
  REFRESH as REFRESH_CLUSTERS,
  type Clusters,
} from "./clusters/messages";
import {
  CHANGED as PROFILED_CHANGED,
  LIST as LIST_PROFILED,
  type ProfiledRuns,
} from "./profile/recordings/messages";
import {
  CHANGED as RUNS_CHANGED,
  LIST as LIST_RUNS,
  type Run,
  type StoredRuns,
} from "./runs/messages";
import {
  CHANGED as WORKERS_CHANGED,
  REFRESH as REFRESH_WORKERS,
  type Snapshot,
} from "./debug/workers/messages";
import type { Sidecar } from "./sidecar/sidecar";

/**
 * Follows the sidecar's notifications, and requests all lists after each start of it, as after a reload: what
 * changed before is in no notification.  While the sidecar is down the last lists stay, since the workers stay paused.
 */
export class SidecarLists implements Disposable {
  readonly clusters = new Store<Clusters>({ clusters: [], hints: [], jobs: [], hosts: [] });
  readonly paused = new Store<Snapshot>({
    groups: [],
    stops: { paused: 0, held: 0, debugging: 0 },
  });
  readonly runs = new Store<StoredRuns>({ runs: [] });
  readonly profiled = new Store<ProfiledRuns>({ runs: [] });
  private readonly listening: readonly Disposable[];

  constructor(
    private readonly sidecar: Sidecar,
    private readonly log: (line: string) => void,
  ) {
    this.listening = [
      sidecar.onNotification(CLUSTERS_CHANGED, (clusters) => {
        this.clusters.set(clusters);
      }),
      sidecar.onNotification(WORKERS_CHANGED, (paused) => {
        this.paused.set(paused);
      }),
      sidecar.onNotification(RUNS_CHANGED, (runs) => {
        this.runs.set(runs);
      }),
      sidecar.onNotification(PROFILED_CHANGED, (profiled) => {
        this.profiled.set(profiled);
      }),
      // The runs are listed without a look at any cluster, which may take long.
      sidecar.onStarted(() => {
        void this.logged("clusters and workers", () => this.requestOthers());
        void this.logged("runs", () => this.latestRuns());
      }),
    ];
  }

  /** Searches for clusters and queries all; rejects with an error of the catalogue. */
  async refresh(): Promise<void> {
    this.clusters.set(await this.sidecar.request(REFRESH_CLUSTERS, {}));
    this.paused.set(await this.sidecar.request(REFRESH_WORKERS, {}));
  }

  /** The runs as they are now, also in a window that has needed no sidecar yet. */
  async latestRuns(): Promise<readonly Run[]> {
    this.runs.set(await this.sidecar.request(LIST_RUNS, {}));
    return this.runs.value.runs;
  }

  dispose(): void {
    for (const listener of this.listening) {
      listener.dispose();
    }
  }

  private async requestOthers(): Promise<void> {
    this.clusters.set(await this.sidecar.request(LIST_CLUSTERS, {}));
    this.paused.set(await this.sidecar.request(REFRESH_WORKERS, {}));
    this.profiled.set(await this.sidecar.request(LIST_PROFILED, {}));
  }

  /** The user requested nothing, so a failure is only logged; the next notification brings the list. */
  private async logged(lists: Verbatim, request: () => Promise<unknown>): Promise<void> {
    try {
      await request();
    } catch (error) {
      this.log(`the lists of ${lists} could not be requested: ${String(error)}`);
    }
  }
}
