/** The view All Workers: requests the workers only while it is visible. */

import type { App } from "../../app";
import { registerCommands } from "../../commands";
import type { Disposable } from "../../common/disposables";
import { asEaglerayError } from "../../common/errors";
import { COMMANDS, VIEWS } from "../../contributions";
import { setContextKey } from "../../settings";
import { RowTree } from "../../tree_view";
import { allRows, allTexts, type AllView, type Grouping, type Loaded } from "./all_rows";
import { problemOf } from "../clusters/rows";
import { ALL } from "./messages";
import type { AllRow } from "./rows";

const POLL_INTERVAL_MS = 5_000;

/** Owns the view, what was loaded for it, and the timer that loads it again. */
export class AllWorkersView implements Disposable {
  private readonly tree: RowTree<AllRow>;
  private readonly loaded = new Map<string, Loaded>();
  private readonly owned: readonly Disposable[];
  private grouping: Grouping = "class";
  private asking = false;

  constructor(private readonly app: App) {
    this.tree = new RowTree<AllRow>(
      VIEWS.all,
      {
        children: (row) => allRows(this.input(), row),
        texts: (row) => allTexts(this.input(), row),
      },
      app.selection,
    );
    app.panel.add(this.tree.view);
    const ask = (): void => void this.ask();
    const timer = setInterval(ask, POLL_INTERVAL_MS);
    this.owned = [
      this.tree,
      this.tree.view.onDidChangeVisibility(ask),
      app.clusters.onChanged(ask),
      app.paused.onChanged(ask),
      {
        dispose: () => {
          clearInterval(timer);
        },
      },
      ...registerCommands(app, () => Promise.resolve(this), [
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
      ]),
    ];
    this.group("class");
  }

  dispose(): void {
    for (const disposable of this.owned) {
      disposable.dispose();
    }
  }

  private input(): AllView {
    return {
      clusters: this.clusters(),
      grouping: this.grouping,
      loaded: (cluster) => this.loaded.get(cluster),
    };
  }

  private clusters(): AllView["clusters"] {
    return this.app.clusters.value.clusters.filter((cluster) => cluster.state === "connected");
  }

  private group(grouping: Grouping): void {
    this.grouping = grouping;
    setContextKey("eagleray.allWorkersBy", grouping);
    this.tree.redraw();
  }

  /** One request at a time; the next tick covers calls meanwhile. */
  private async ask(): Promise<void> {
    if (this.asking || !this.tree.view.visible || this.app.sidecar.state.value !== "ready") {
      return;
    }
    this.asking = true;
    try {
      await Promise.all(this.clusters().map((cluster) => this.load(cluster.id)));
    } finally {
      this.asking = false;
    }
    this.tree.redraw();
  }

  private async load(cluster: string): Promise<void> {
    try {
      const { workers } = await this.app.sidecar.request(ALL, { cluster });
      this.loaded.set(cluster, workers);
    } catch (error) {
      this.loaded.set(cluster, problemOf(asEaglerayError(error)));
    }
  }
}
