/** The tabs of comparisons: each shows one, and makes it again. */

import { basename } from "node:path";

import * as vscode from "vscode";

import type { App } from "../app";
import { plain } from "../common/texts";
import { PANELS } from "../contributions";
import { PageTab, PageTabs, restored, versionOf, type PageKind } from "../page/tabs";
import type { FromComparisonPage, StoredComparison, ToComparisonPage } from "./comparison_messages";
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
  private readonly tabs = new PageTabs<ComparisonTab>(PANELS.comparison);

  constructor(
    private readonly app: App,
    private readonly compareAgain: CompareAgain,
  ) {}

  /** An open tab of the same engines shows the new result. */
  show(request: ComparisonRequest, comparison: ShownComparison): void {
    const present = this.tabs.get(JSON.stringify(request));
    if (present === undefined) {
      this.add(this.tabs.panel(titleOf(comparison)), request, comparison);
    } else {
      present.fill(comparison);
      present.focus();
    }
  }

  /** A tab that was open before the window was reloaded, with the comparison that its page has stored. */
  revive(panel: vscode.WebviewPanel, state: unknown): void {
    const stored = restored(this.app, state) as StoredComparison | undefined;
    if (stored === undefined) {
      panel.dispose();
    } else {
      this.add(panel, stored.request, stored.comparison);
    }
  }

  private add(
    panel: vscode.WebviewPanel,
    request: ComparisonRequest,
    comparison: ShownComparison,
  ): void {
    const tab = new ComparisonTab(this.app, panel, request, comparison, this.compareAgain);
    this.tabs.add(JSON.stringify(request), panel, tab);
  }
}

const TAB: PageKind = { script: "comparison_page", doing: "a comparison’s page" };

class ComparisonTab extends PageTab<FromComparisonPage, ToComparisonPage> {
  constructor(
    app: App,
    panel: vscode.WebviewPanel,
    private readonly request: ComparisonRequest,
    private comparison: ShownComparison,
    private readonly compareAgain: CompareAgain,
  ) {
    super(app, panel, TAB, titleOf(comparison));
  }

  fill(comparison: ShownComparison): void {
    this.comparison = comparison;
    this.panel.title = titleOf(comparison);
    this.send();
  }

  protected override async take({ kind }: FromComparisonPage): Promise<void> {
    switch (kind) {
      case "ready":
        this.send();
        break;
      case "again":
        await this.repeat(
          () => this.compareAgain(this.request),
          (comparison) => {
            this.fill(comparison);
          },
        );
        break;
      case "save":
        await this.save();
        break;
      case "copyMarkdown":
        await this.copyMarkdown();
        break;
    }
  }

  /** The object of `eagleray rollouts compare --json`. */
  private async save(): Promise<void> {
    const { stored } = this.comparison;
    await this.saveAs(
      {
        title: vscode.l10n.t("Save the Comparison"),
        file: "comparison.json",
        filters: { [vscode.l10n.t("Comparisons of engines")]: ["json"] },
      },
      (path) => this.app.sidecar.request(SAVE_COMPARISON, { stored, path }),
    );
  }

  private async copyMarkdown(): Promise<void> {
    const { stored } = this.comparison;
    const { text } = await this.app.sidecar.request(COMPARISON_MARKDOWN, { stored });
    await this.copy(text, vscode.l10n.t("Copied as Markdown."));
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
    this.postBusy();
  }
}

function titleOf({ a, b }: ShownComparison): string {
  return vscode.l10n.t("{0} and {1}", plain(a.name, 40), plain(b.name, 40));
}
