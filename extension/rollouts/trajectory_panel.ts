/** The tabs of trajectories: each shows one dump, and what it grows. */

import { basename, dirname } from "node:path";

import * as vscode from "vscode";

import type { App } from "../app";
import { asEaglerayError, isCancellation } from "../common/errors";
import { plain } from "../common/texts";
import { COMMANDS, PANELS } from "../contributions";
import { PageTab, PageTabs, type PageKind } from "../page/tabs";
import type { Progress, RequestOptions } from "../sidecar/sidecar";
import { GROUP, ITEM, PAGE, STATISTICS } from "./messages";
import type { FromTrajectoryPage, ListQuery, PagePart, ToTrajectoryPage } from "./page_messages";

/** Dumps up to this size are summed up without a click. */
const SUMMED_BYTES = 200e6;
/** Writers append line by line; the list is read again after a pause, at the latest after some of them. */
const PAUSE_MS = 500;
/** Behind any item: a page from there has no rows, but all lines were counted. */
const BEHIND_ALL = 2 ** 40;

export class TrajectoryPanels {
  private readonly tabs = new PageTabs<TrajectoryTab>(PANELS.trajectories);

  constructor(private readonly app: App) {}

  /** An open tab of the same dump comes to the front; `item` is shown at once, 0 for none.  The tab is called `title`. */
  show(path: string, item = 0, title = nameOf(path)): void {
    const present = this.tabs.get(path);
    if (present === undefined) {
      this.add(this.tabs.panel(title), path, title, item);
    } else {
      present.reveal(item);
    }
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
    this.tabs.add(path, panel, new TrajectoryTab(this.app, panel, path, name, item));
  }
}

const TAB: PageKind = { script: "trajectory_page", doing: "a page of trajectories" };

class TrajectoryTab extends PageTab<FromTrajectoryPage, ToTrajectoryPage> {
  private readonly running = new Map<PagePart, vscode.CancellationTokenSource>();
  private query: ListQuery | undefined;
  private isSummed = false;
  private waiting: NodeJS.Timeout | undefined;

  constructor(
    app: App,
    panel: vscode.WebviewPanel,
    private readonly path: string,
    private readonly name: string,
    private item: number,
  ) {
    super(app, panel, TAB, name);
    this.watch(new vscode.RelativePattern(vscode.Uri.file(dirname(path)), basename(path)));
    this.watch(new vscode.RelativePattern(vscode.Uri.file(path), "**/*.{jsonl,ndjson}"));
  }

  reveal(item: number): void {
    this.panel.reveal();
    this.item = item;
    this.start();
  }

  override dispose(): void {
    super.dispose();
    clearTimeout(this.waiting);
    for (const part of [...this.running.keys()]) {
      this.cancel(part);
    }
  }

  /** The page is drawn again. */
  private start(): void {
    this.isSummed = false;
    this.post({ kind: "dump", path: this.path, item: this.item, name: this.name });
    // A reload of the tab shows what the user has opened since.
    this.item = 0;
  }

  protected override async take(message: FromTrajectoryPage): Promise<void> {
    switch (message.kind) {
      case "ready":
        this.start();
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
}

function nameOf(path: string): string {
  return plain(basename(path));
}
