/** The commands about logs: open, follow, stop following, search; read when the first of them is called. */

import * as vscode from "vscode";

import type { App } from "../../../app";
import type { Disposable } from "../../../common/disposables";
import { noCluster, withEach } from "../../../common/errors";
import { plain } from "../../../common/texts";
import type { Row } from "../../../rows";
import { OPEN_LOG, SEARCH_LOGS } from "../messages";
import { workerName } from "../names";
import { type WorkerName } from "../rows";
import { workersOf } from "../../../rows";
import { linksTo, type LogDocuments } from "./documents";
import { LogFollowers } from "./followers";
import {
  logDocument,
  logTitle,
  matchesText,
  scopeOf,
  searchEach,
  searchOf,
  type Stream,
} from "./model";

const LINES = 10_000;

export class LogCommands implements Disposable {
  private readonly followers: LogFollowers;

  constructor(
    private readonly app: App,
    private readonly documents: LogDocuments,
  ) {
    this.followers = new LogFollowers(app.sidecar);
  }

  dispose(): void {
    this.followers.dispose();
  }

  async open(rows: readonly Row[], stream: Stream): Promise<void> {
    const workers = await this.chosen(rows);
    // A preview tab is replaced by the next one.
    const preview = workers.length === 1;
    await withEach(workers, nameOf, async (worker) => {
      const { cluster, worker_id } = worker;
      const params = { cluster, worker_id, stream, lines: LINES };
      const log = await this.app.sidecar.request(OPEN_LOG, params);
      const text = logDocument(log, LINES);
      await this.documents.show(logTitle(worker, stream), text, { at: "end", preview });
    });
  }

  async follow(rows: readonly Row[]): Promise<void> {
    await withEach(await this.chosen(rows), nameOf, (worker) =>
      this.followers.follow(worker, "out"),
    );
  }

  async stopFollowing(rows: readonly Row[]): Promise<void> {
    const ids = workersOf(rows).map((worker) => worker.worker_id);
    const ofRows = this.followers.active.filter(({ worker }) => ids.includes(worker.worker_id));
    const stopped = ofRows.length > 0 ? ofRows : await this.pickFollowers();
    for (const follower of stopped) {
      await this.followers.stop(follower);
    }
  }

  private async pickFollowers(): Promise<LogFollowers["active"]> {
    const { active } = this.followers;
    if (active.length < 2) {
      return active;
    }
    const items = active.map((follower) => ({ label: follower.title, follower }));
    const options = {
      title: vscode.l10n.t("Select the logs to stop following"),
      canPickMany: true,
    } as const;
    const picked = (await vscode.window.showQuickPick(items, options)) ?? [];
    return picked.map((item) => item.follower);
  }

  /** Copies the name and rank of each worker, a line for each. */
  async copyNames(rows: readonly Row[]): Promise<void> {
    await vscode.env.clipboard.writeText(workersOf(rows).map(workerName).join("\n"));
  }

  /** Copies one field of each worker, a line for each; workers of one node have its address in common. */
  async copy(rows: readonly Row[], field: "worker_id" | "pid" | "node_ip"): Promise<void> {
    const values = workersOf(rows).map((worker) => worker[field]);
    await vscode.env.clipboard.writeText([...new Set(values)].join("\n"));
  }

  async search(rows: readonly Row[]): Promise<void> {
    const clusters = this.app.clusters.value.clusters;
    const scope = scopeOf(rows, clusters);
    if (scope === undefined) {
      throw noCluster();
    }
    const typed = await askPattern(scope.where);
    if (typed === undefined || typed === "") {
      return;
    }
    const search = searchOf(typed);
    const nameOfCluster = (id: string): string =>
      plain(clusters.find((cluster) => cluster.id === id)?.name ?? id);
    const progress = {
      location: vscode.ProgressLocation.Notification,
      title: vscode.l10n.t("Searching the logs of {0}", scope.where),
      cancellable: true,
    };
    const found = await vscode.window.withProgress(progress, (report, cancel) =>
      searchEach(scope, nameOfCluster, (logs) =>
        this.app.sidecar.request(
          SEARCH_LOGS,
          { ...logs, ...search },
          {
            cancel,
            onProgress: ({ message }) => {
              report.report(message === undefined ? {} : { message: plain(message) });
            },
          },
        ),
      ),
    );
    const title = `Search ${plain(search.pattern, 40).replaceAll("/", "∕")}`;
    const { text, links } = matchesText(search, scope.where, found);
    await this.documents.show(title, text, { links: linksTo(links) });
  }

  /** The workers of the rows; for a group, or without rows, the user picks one. */
  private async chosen(rows: readonly Row[]): Promise<readonly WorkerName[]> {
    const named = rows.filter(({ row }) => row === "worker" || row === "anyWorker");
    if (named.length > 0) {
      return workersOf(named);
    }
    const grouped = workersOf(rows);
    const paused = this.app.paused.value.groups.flatMap((group) => group.workers);
    const items = (grouped.length > 0 ? grouped : paused).map((worker) => ({
      label: plain(worker.name),
      description: plain(worker.worker_id.slice(0, 8)),
      worker,
    }));
    if (items.length === 0) {
      void vscode.window.showInformationMessage(
        vscode.l10n.t("Select a worker in the Eagleray views first."),
      );
      return [];
    }
    const picked = await vscode.window.showQuickPick(items, {
      title: vscode.l10n.t("Select a worker"),
    });
    return picked === undefined ? [] : [picked.worker];
  }
}

function nameOf({ name }: WorkerName): string {
  return name;
}

function askPattern(where: string): Thenable<string | undefined> {
  return vscode.window.showInputBox({
    title: vscode.l10n.t("Search the logs of {0}", where),
    prompt: vscode.l10n.t("Text to find, or /…/ for a regular expression"),
    ignoreFocusOut: true,
  });
}
