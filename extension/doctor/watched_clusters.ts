/** Clusters whose logs are followed because the user asked for it: shows each first problem of them. */

import * as vscode from "vscode";

import type { App } from "../app";
import { Disposables } from "../common/disposables";
import { asEaglerayError, isCancellation } from "../common/errors";
import { ruleFolders } from "../workspace";
import { FIRST_CLUSTER_PROBLEM, type Cause } from "./messages";
import type { ProblemLists } from "./problem_list";
import { announce, ProblemSigns, type ShownProblem } from "./problem_signs";
import type { NamedLogs } from "./targets_model";

/** `following`: the request that is under way, while its cluster is connected. */
interface Watched {
  readonly logs: NamedLogs;
  readonly causes: Cause[];
  following: vscode.CancellationTokenSource | undefined;
}

/** Once so many rules have matched, more would only be noise. */
const MOST_CAUSES = 10;

/** Lasts as long as the window; a cluster that is lost is followed again once it is connected. */
export class WatchedClusters implements vscode.Disposable {
  private readonly owned = new Disposables();
  private readonly watched = new Map<string, Watched>();
  private readonly changes = this.owned.add(new vscode.EventEmitter<void>());
  private readonly signs: ProblemSigns;

  constructor(
    private readonly app: App,
    lists: ProblemLists,
  ) {
    const name = vscode.l10n.t("Eagleray: Watched Cluster");
    this.signs = this.owned.add(new ProblemSigns(lists, "eagleray.clusterProblem", name));
    const update = (): void => {
      this.update();
    };
    this.owned.add(app.clusters.onChanged(update));
    this.owned.add(app.sidecar.onStarted(update));
  }

  get onChanged(): vscode.Event<void> {
    return this.changes.event;
  }

  has(cluster: string): boolean {
    return this.watched.has(cluster);
  }

  watch(cluster: string, logs: NamedLogs): void {
    if (!this.watched.has(cluster)) {
      this.watched.set(cluster, { logs, causes: [], following: undefined });
      this.update();
      this.changes.fire();
    }
  }

  unwatch(cluster: string): void {
    this.watched.get(cluster)?.following?.cancel();
    this.watched.delete(cluster);
    this.show();
    this.changes.fire();
  }

  dispose(): void {
    for (const { following } of this.watched.values()) {
      following?.cancel();
    }
    this.owned.dispose();
  }

  private update(): void {
    const { clusters } = this.app.clusters.value;
    for (const [id, watched] of this.watched) {
      const isConnected = clusters.find((cluster) => cluster.id === id)?.state === "connected";
      if (!isConnected) {
        watched.following?.cancel();
      } else if (watched.following === undefined && watched.causes.length < MOST_CAUSES) {
        void this.follow(id, watched);
      }
    }
    this.show();
  }

  private async follow(cluster: string, watched: Watched): Promise<void> {
    const cancel = new vscode.CancellationTokenSource();
    watched.following = cancel;
    try {
      while (watched.causes.length < MOST_CAUSES && !cancel.token.isCancellationRequested) {
        const reported = watched.causes.map(({ id }) => id);
        const { cause } = await this.app.sidecar.request(
          FIRST_CLUSTER_PROBLEM,
          { cluster, reported, ...ruleFolders() },
          { cancel: cancel.token },
        );
        if (cause === null || this.watched.get(cluster) !== watched) {
          return;
        }
        watched.causes.push(cause);
        this.show();
        void this.announce(cluster, shownOf(watched, cause));
      }
    } catch (error) {
      if (!isCancellation(error)) {
        // The next list of clusters follows it again.
        this.app.log.warn(`the logs of ${cluster}: ${asEaglerayError(error).code}`);
      }
    } finally {
      watched.following = undefined;
      cancel.dispose();
    }
  }

  private async announce(cluster: string, problem: ShownProblem): Promise<void> {
    await announce(problem, vscode.l10n.t("Stop Watching"), () => {
      this.unwatch(cluster);
    });
  }

  /** The status bar has the newest problem, or else what is watched. */
  private show(): void {
    const all = [...this.watched.values()];
    const problems = all.flatMap((watched) =>
      watched.causes.map((cause) => shownOf(watched, cause)),
    );
    this.signs.list(problems);
    const newest = problems.at(-1);
    const [first] = all;
    if (newest !== undefined) {
      this.signs.showProblem(newest);
    } else if (first !== undefined) {
      const { name } = first.logs;
      const shown = all.length === 1 ? name : vscode.l10n.t("{0} clusters", all.length);
      const sentence = vscode.l10n.t("Watched for problems: {0}", shown);
      this.signs.showFollowed(shown, sentence, first.logs);
    } else {
      this.signs.hide();
    }
  }
}

function shownOf({ logs }: Watched, cause: Cause): ShownProblem {
  return { name: logs.name, diagnosed: logs, cause };
}
