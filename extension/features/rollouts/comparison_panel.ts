/** The tabs of comparisons: each shows one, and makes it again. */

import { homedir } from "node:os";
import { basename, join } from "node:path";

import * as vscode from "vscode";

import type { App } from "../../app";
import { Disposables } from "../../common/disposables";
import { plain } from "../../common/texts";
import { PANELS } from "../../contributions";
import { drawPage } from "../../page_document";
import { workspaceFolder } from "../../workspace";
import type { FromComparisonPage, StoredComparison, ToComparisonPage } from "./comparison_messages";
import { comparisonTexts } from "./comparison_texts";
import {
  COMPARISON_MARKDOWN,
  SAVE_COMPARISON,
  type ComparisonRequest,
  type ShownComparison,
} from "./messages";

/** The editor writes what a page keeps to the disk, each time the user scrolls. */
const MOST_STORED_CELLS = 20_000;

/** Undefined if it was cancelled or has failed, which was shown. */
export type CompareAgain = (request: ComparisonRequest) => Promise<ShownComparison | undefined>;

export class ComparisonPanels {
  private readonly open = new Map<string, ComparisonPanel>();

  constructor(
    private readonly app: App,
    private readonly compareAgain: CompareAgain,
  ) {}

  /** An open tab of the same engines shows the new result. */
  show(request: ComparisonRequest, comparison: ShownComparison): void {
    const present = this.open.get(JSON.stringify(request));
    if (present !== undefined) {
      present.fill(comparison);
      present.focus();
      return;
    }
    const title = titleOf(comparison);
    const column = vscode.ViewColumn.Active;
    const panel = vscode.window.createWebviewPanel(PANELS.comparison, title, column, {
      enableFindWidget: true,
    });
    this.add(panel, request, comparison);
  }

  /** A tab that was open before the window was reloaded, with the comparison that its page has stored. */
  revive(panel: vscode.WebviewPanel, state: unknown): void {
    const stored = (state as { stored?: Partial<StoredComparison> } | undefined)?.stored;
    const { request, comparison, version } = stored ?? {};
    if (request === undefined || comparison === undefined || version !== versionOf(this.app)) {
      panel.dispose();
      return;
    }
    this.add(panel, request, comparison);
  }

  private add(
    panel: vscode.WebviewPanel,
    request: ComparisonRequest,
    comparison: ShownComparison,
  ): void {
    const key = JSON.stringify(request);
    const page = new ComparisonPanel(this.app, panel, request, comparison, this.compareAgain);
    this.open.set(key, page);
    panel.onDidDispose(() => {
      page.dispose();
      this.open.delete(key);
    });
  }
}

class ComparisonPanel implements vscode.Disposable {
  private readonly owned = new Disposables();
  private isOver = false;
  private isComparing = false;

  constructor(
    private readonly app: App,
    private readonly panel: vscode.WebviewPanel,
    private readonly request: ComparisonRequest,
    private comparison: ShownComparison,
    private readonly compareAgain: CompareAgain,
  ) {
    this.owned.add(
      panel.webview.onDidReceiveMessage((message: FromComparisonPage) => {
        void app.errors.shown("a comparison’s page", () => this.take(message));
      }),
    );
    drawPage(panel.webview, app.context, "comparison_page", titleOf(comparison));
  }

  /** Brings the tab to the front, as a command does that the user has just run. */
  focus(): void {
    this.panel.reveal();
  }

  fill(comparison: ShownComparison): void {
    this.comparison = comparison;
    this.panel.title = titleOf(comparison);
    this.send();
  }

  dispose(): void {
    this.isOver = true;
    this.owned.dispose();
  }

  private async take({ kind }: FromComparisonPage): Promise<void> {
    switch (kind) {
      case "ready":
        this.post({ kind: "texts", texts: comparisonTexts() });
        this.send();
        break;
      case "again":
        await this.again();
        break;
      case "save":
        await this.save();
        break;
      case "copyMarkdown":
        await this.copyMarkdown();
        break;
    }
  }

  private async again(): Promise<void> {
    if (this.isComparing) {
      return;
    }
    this.showComparing(true);
    try {
      const comparison = await this.compareAgain(this.request);
      if (comparison !== undefined && !this.isOver) {
        this.fill(comparison);
        // The user may type elsewhere meanwhile, such as in the palette, which would close.
        this.panel.reveal(undefined, true);
      }
    } finally {
      this.showComparing(false);
    }
  }

  /** The object of `eagleray rollouts compare --json`. */
  private async save(): Promise<void> {
    const { stored } = this.comparison;
    const uri = await vscode.window.showSaveDialog({
      title: vscode.l10n.t("Save the Comparison"),
      defaultUri: vscode.Uri.file(join(workspaceFolder() || homedir(), "comparison.json")),
      filters: { [vscode.l10n.t("Comparisons of engines")]: ["json"] },
    });
    if (uri !== undefined) {
      await this.app.sidecar.request(SAVE_COMPARISON, { stored, path: uri.fsPath });
      const name = plain(basename(uri.fsPath));
      this.post({ kind: "announcement", sentence: vscode.l10n.t("Saved as {0}.", name) });
    }
  }

  private async copyMarkdown(): Promise<void> {
    const { stored } = this.comparison;
    const { text } = await this.app.sidecar.request(COMPARISON_MARKDOWN, { stored });
    await vscode.env.clipboard.writeText(text);
    this.post({ kind: "announcement", sentence: vscode.l10n.t("Copied as Markdown.") });
  }

  private showComparing(isOn: boolean): void {
    this.isComparing = isOn;
    this.post({ kind: "comparing", isOn });
  }

  private send(): void {
    const { comparison, request } = this;
    const cells = comparison.rows.reduce((sum, row) => sum + row.cells.length, 0);
    this.post({
      kind: "comparison",
      comparison,
      data: plain(basename(request.data ?? "")),
      stored: cells <= MOST_STORED_CELLS ? { version: versionOf(this.app), request } : undefined,
    });
    this.post({ kind: "comparing", isOn: this.isComparing });
  }

  /** Messages for a page that was closed are dropped. */
  private post(message: ToComparisonPage): void {
    if (!this.isOver) {
      void this.panel.webview.postMessage(message);
    }
  }
}

/** Another version may read other fields. */
function versionOf({ context }: App): string {
  return (context.extension.packageJSON as { version: string }).version;
}

function titleOf({ a, b }: ShownComparison): string {
  return vscode.l10n.t("{0} and {1}", plain(a.name, 40), plain(b.name, 40));
}
