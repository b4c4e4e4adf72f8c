/** The view Clusters: requests the nodes and workers of a cluster only while its row is open and visible. */

import type { App } from "../../app";
import { registerCommands } from "../../commands";
import { Disposables, type Disposable } from "../../common/disposables";
import { asEaglerayError } from "../../common/errors";
import type { Readable } from "../../common/store";
import { COMMANDS, VIEWS } from "../../contributions";
import { setContextKey } from "../../settings";
import { RowTree } from "../../tree_view";
import { problemOf } from "../../clusters/rows";
import type { ClusterTreeView, Grouping, Loaded } from "./cluster_rows";
import { ALL } from "./messages";
import type { ClusterTreeRow } from "./rows";

const POLL_INTERVAL_MS = 5_000;
/** How often the remaining time of jobs is redrawn. */
const REDRAW_MS = 20_000;
const GROUPING = "eagleray.clustersBy";

/** Owns the view, what was loaded for it, and the timer that loads it again. */
export class ClustersTree implements Disposable {
  private readonly tree: RowTree<ClusterTreeRow>;
  private readonly owned = new Disposables();
  private readonly loaded = new Map<string, Loaded>();
  /** The clusters whose rows are open. */
  private readonly open = new Set<string>();
  private grouping: Grouping;
  private since = Date.now();
  private isLoading = false;

  /** `connecting` are the addresses that are being connected. */
  constructor(
    private readonly app: App,
    private readonly connecting: Readable<ReadonlySet<string>>,
  ) {
    this.tree = this.owned.add(
      new RowTree<ClusterTreeRow>(
        VIEWS.clusters,
        async () => {
          const { clusterTreeRows, clusterTreeTexts } = await import("./cluster_rows.js");
          return {
            children: (row) => clusterTreeRows(this.input(), row),
            texts: (row) => clusterTreeTexts(this.input(), row),
          };
        },
        app.selection,
      ),
    );
    app.panel.add(this.tree.view);
    this.grouping = app.context.globalState.get<Grouping>(GROUPING) === "class" ? "class" : "node";
    setContextKey(GROUPING, this.grouping);
    this.follow();
  }

  dispose(): void {
    this.owned.dispose();
  }

  group(grouping: Grouping): void {
    this.grouping = grouping;
    setContextKey(GROUPING, grouping);
    void this.app.context.globalState.update(GROUPING, grouping);
    this.tree.redraw();
  }

  private follow(): void {
    const { app, tree } = this;
    const load = (): void => void this.load();
    const redraw = (): void => {
      tree.redraw();
    };
    const timer = setInterval(load, POLL_INTERVAL_MS);
    for (const owned of [
      tree.view.onDidChangeVisibility(load),
      tree.view.onDidCollapseElement(({ element }) => {
        if (element.row === "cluster") {
          this.open.delete(element.cluster.id);
        }
      }),
      app.clusters.onChanged(() => {
        this.since = Date.now();
        this.forgetGone();
        redraw();
      }),
      this.connecting.onChanged(redraw),
      app.runs.onChanged(() => {
        if (app.clusters.value.clusters.some(({ run }) => run !== "")) {
          redraw();
        }
      }),
      app.paused.onChanged(load),
      {
        dispose: () => {
          clearInterval(timer);
        },
      },
      ...this.commands(),
    ]) {
      this.owned.add(owned);
    }
    tree.redrawEvery(REDRAW_MS, () => {
      const { clusters, jobs } = app.clusters.value;
      return [...clusters, ...jobs].some(({ time_left_s }) => time_left_s !== null);
    });
  }

  private commands(): Disposable[] {
    return registerCommands(this.app, () => Promise.resolve(this), [
      [
        COMMANDS.groupByClass,
        "grouping workers",
        (view) => {
          view.group("class");
        },
      ],
      [
        COMMANDS.groupByNode,
        "grouping workers",
        (view) => {
          view.group("node");
        },
      ],
    ]);
  }

  private input(): ClusterTreeView {
    return {
      clusters: this.app.clusters.value,
      connecting: this.connecting.value,
      age_s: (Date.now() - this.since) / 1000,
      runs: new Map(this.app.runs.value.runs.map(({ id, name }) => [id, name])),
      grouping: this.grouping,
      loaded: (cluster) => this.loadedOf(cluster),
    };
  }

  /** The editor asks for the rows below a cluster only while that is open. */
  private loadedOf(cluster: string): Loaded {
    this.open.add(cluster);
    if (!this.loaded.has(cluster)) {
      void this.load();
    }
    return this.loaded.get(cluster);
  }

  private forgetGone(): void {
    const connected = new Set(this.connected());
    for (const cluster of [...this.open, ...this.loaded.keys()]) {
      if (!connected.has(cluster)) {
        this.open.delete(cluster);
        this.loaded.delete(cluster);
      }
    }
  }

  private connected(): string[] {
    return this.app.clusters.value.clusters
      .filter(({ state }) => state === "connected")
      .map(({ id }) => id);
  }

  /** One round of requests at a time; the next tick covers other calls meanwhile. */
  private async load(): Promise<void> {
    if (this.isLoading || !this.tree.view.visible || this.app.sidecar.state.value !== "ready") {
      return;
    }
    this.isLoading = true;
    try {
      const wanted = this.connected().filter((cluster) => this.open.has(cluster));
      const changed = await Promise.all(wanted.map((cluster) => this.loadCluster(cluster)));
      if (changed.includes(true)) {
        this.tree.redraw();
      }
    } finally {
      this.isLoading = false;
    }
    if (this.connected().some((cluster) => this.open.has(cluster) && !this.loaded.has(cluster))) {
      // Its row was opened meanwhile.
      void this.load();
    }
  }

  /** Whether the answer differs from the last one: thousands of rows are not drawn again for nothing. */
  private async loadCluster(cluster: string): Promise<boolean> {
    const before = JSON.stringify(this.loaded.get(cluster));
    const loaded = await this.request(cluster);
    this.loaded.set(cluster, loaded);
    return JSON.stringify(loaded) !== before;
  }

  private async request(cluster: string): Promise<Loaded> {
    try {
      return await this.app.sidecar.request(ALL, { cluster });
    } catch (error) {
      return problemOf(asEaglerayError(error));
    }
  }
}
