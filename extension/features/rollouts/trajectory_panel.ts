/** The tabs of trajectories: each shows one dump, and what it grows. */

import { basename, dirname } from "node:path";

import * as vscode from "vscode";

import type { App } from "../../app";
import { Disposables } from "../../common/disposables";
import { asEaglerayError, isCancellation } from "../../common/errors";
import { plain } from "../../common/texts";
import { COMMANDS, PANELS } from "../../contributions";
import { drawPage } from "../../page_document";
import type { Progress, RequestOptions } from "../../sidecar/sidecar";
import { GROUP, ITEM, PAGE, STATISTICS } from "./messages";
import type { FromTrajectoryPage, ListQuery, PagePart, ToTrajectoryPage } from "./page_messages";
import { trajectoryTexts } from "./trajectory_texts";

/** Dumps up to this size are summed up without a click. */
const SUMMED_BYTES = 200e6;
/** Writers append line by line; the list is read again after a pause, at the latest after some of them. */
const PAUSE_MS = 500;
/** Behind any item: a page from there has no rows, but all lines were counted. */
const BEHIND_ALL = 2 ** 40;

export class TrajectoryPanels {
  private readonly open = new Map<string, TrajectoryPanel>();

  constructor(private readonly app: App) {}

  /** An open tab of the same dump comes to the front; `item` is shown at once, 0 for none.  The tab is called `title`. */
  show(path: string, item = 0, title = nameOf(path)): void {
    const present = this.open.get(path);
    if (present !== undefined) {
      present.reveal(item);
      return;
    }
    const column = vscode.ViewColumn.Active;
    const panel = vscode.window.createWebviewPanel(PANELS.trajectories, title, column, {
      enableFindWidget: true,
    });
    this.add(panel, path, title, item);
  }

  /** A tab that was open before the window was reloaded. */
  revive(panel: vscode.WebviewPanel, state: unknown): void {
    const { path, name } = (state ?? {}) as { path?: unknown; name?: unknown };
    if (typeof path === "string" && path !== "") {
      this.add(panel, path, typeof name === "string" && name !== "" ? name : nameOf(path));
    } else {
      panel.dispose();
    }
  }

  private add(panel: vscode.WebviewPanel, path: string, name: string, item = 0): void {
    const page = new TrajectoryPanel(this.app, panel, path, name, item);
    this.open.set(path, page);
    panel.onDidDispose(() => {
      page.dispose();
      this.open.delete(path);
    });
  }
}

class TrajectoryPanel implements vscode.Disposable {
  private readonly owned = new Disposables();
  private readonly running = new Map<PagePart, vscode.CancellationTokenSource>();
  private query: ListQuery | undefined;
  private isSummed = false;
  private isOver = false;
  private waiting: NodeJS.Timeout | undefined;

  constructor(
    private readonly app: App,
    private readonly panel: vscode.WebviewPanel,
    private readonly path: string,
    private readonly name: string,
    private item: number,
  ) {
    this.owned.add(
      panel.webview.onDidReceiveMessage((message: FromTrajectoryPage) => {
        void app.errors.shown("a page of trajectories", () => this.take(message));
      }),
    );
    this.watch(new vscode.RelativePattern(vscode.Uri.file(dirname(path)), basename(path)));
    this.watch(new vscode.RelativePattern(vscode.Uri.file(path), "**/*.{jsonl,ndjson}"));
    drawPage(panel.webview, app.context, "trajectory_page", name);
  }

  reveal(item: number): void {
    this.panel.reveal();
    this.item = item;
    this.postTexts();
  }

  dispose(): void {
    this.isOver = true;
    clearTimeout(this.waiting);
    for (const part of [...this.running.keys()]) {
      this.cancel(part);
    }
    this.owned.dispose();
  }

  /** The page is drawn again with them. */
  private postTexts(): void {
    this.isSummed = false;
    this.post({
      kind: "texts",
      texts: trajectoryTexts(),
      path: this.path,
      item: this.item,
      name: this.name,
    });
    // A reload of the tab shows what the user has opened since.
    this.item = 0;
  }

  private async take(message: FromTrajectoryPage): Promise<void> {
    switch (message.kind) {
      case "ready":
        this.postTexts();
        break;
      case "query":
        this.query = message.query;
        await this.list(message.query);
        break;
      case "item":
        await this.request("item", async () => {
          const item = await this.app.sidecar.request(ITEM, this.at(message.item));
          return { kind: "item", item };
        });
        break;
      case "group":
        await this.request("group", async (options) => {
          const group = await this.app.sidecar.request(GROUP, this.at(message.item), options);
          return { kind: "group", group };
        });
        break;
      case "sumUp":
        await this.sumUp();
        break;
      case "saveBatch":
        await vscode.commands.executeCommand(COMMANDS.saveBatch, vscode.Uri.file(this.path));
        break;
      case "cancel":
        this.cancel(message.part);
        break;
    }
  }

  private at(item: number): { readonly path: string; readonly item: number } {
    return { path: this.path, item };
  }

  /** Shows rows as soon as they are read; only then are all lines counted, and small dumps summed up. */
  private async list(query: ListQuery): Promise<void> {
    const rows = await this.request("list", async (options) => {
      const request = { ...query, path: this.path };
      const page = await this.app.sidecar.request(PAGE, request, options);
      return { kind: "rows" as const, query, page };
    });
    if (rows === undefined || this.isOver) {
      return;
    }
    if (!rows.page.complete) {
      await this.count();
    }
    if (!this.isSummed && rows.page.size <= SUMMED_BYTES) {
      await this.sumUp();
    }
  }

  private async count(): Promise<void> {
    await this.request("statistics", async (options) => {
      const behind = { path: this.path, start: BEHIND_ALL, limit: 0 };
      const page = await this.app.sidecar.request(PAGE, behind, options);
      return { kind: "counted", page };
    });
  }

  private async sumUp(): Promise<void> {
    this.isSummed = true;
    await this.request("statistics", async (options) => {
      const request = { path: this.path };
      const statistics = await this.app.sidecar.request(STATISTICS, request, options);
      return { kind: "statistics", statistics };
    });
  }

  /** Posts the answer, the progress, and why there is none; a newer request of the same part cancels it. */
  private async request<Answer extends ToTrajectoryPage>(
    part: PagePart,
    ask: (options: RequestOptions) => Promise<Answer>,
  ): Promise<Answer | undefined> {
    this.cancel(part);
    const cancel = new vscode.CancellationTokenSource();
    this.running.set(part, cancel);
    const isLatest = (): boolean => this.running.get(part) === cancel;
    const onProgress = ({ message = "", percentage }: Progress): void => {
      if (isLatest()) {
        const text = plain(message);
        this.post({ kind: "loading", part, message: text, percentage: percentage ?? null });
      }
    };
    this.post({ kind: "loading", part, message: "", percentage: null });
    try {
      const answer = await ask({ cancel: cancel.token, onProgress });
      if (!isLatest()) {
        return undefined;
      }
      this.post({ kind: "loaded", part });
      this.post(answer);
      return answer;
    } catch (error) {
      if (isLatest()) {
        this.post({ kind: "failed", part, ...this.reason(part, error) });
      }
      return undefined;
    } finally {
      if (isLatest()) {
        this.running.delete(part);
      }
      cancel.dispose();
    }
  }

  /** A cancellation by the user has no message. */
  private reason(part: PagePart, error: unknown): { message: string; nextStep: string } {
    if (isCancellation(error)) {
      return { message: "", nextStep: "" };
    }
    const { code, message, nextStep, detail } = asEaglerayError(error);
    this.app.log.error(`trajectories, ${part}: ${code}: ${message} ${detail}`.trim());
    return { message, nextStep };
  }

  private cancel(part: PagePart): void {
    this.running.get(part)?.cancel();
  }

  private watch(pattern: vscode.RelativePattern): void {
    const watcher = vscode.workspace.createFileSystemWatcher(pattern);
    const changed = (): void => {
      // The first of many changes starts the pause, so that a steady writer is followed, too.
      this.waiting ??= setTimeout(() => {
        this.waiting = undefined;
        void this.app.errors.shown("following a dump", () => this.follow());
      }, PAUSE_MS);
    };
    watcher.onDidChange(changed);
    watcher.onDidCreate(changed);
    watcher.onDidDelete(changed);
    this.owned.add(watcher);
  }

  /** A request that still runs reads what has grown anyway, or is followed by the next change. */
  private async follow(): Promise<void> {
    if (this.query !== undefined && !this.running.has("list")) {
      this.isSummed = this.running.has("statistics");
      await this.list(this.query);
    }
  }

  /** Messages for a page that was closed are dropped. */
  private post(message: ToTrajectoryPage): void {
    if (!this.isOver) {
      void this.panel.webview.postMessage(message);
    }
  }
}

function nameOf(path: string): string {
  return plain(basename(path));
}
