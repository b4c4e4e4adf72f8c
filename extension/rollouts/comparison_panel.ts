/** The tabs of comparisons: each shows one, and makes it again. */

import { basename } from "node:path";

import * as vscode from "vscode";

import type { App } from "../app";
import { plain } from "../common/texts";
import { PANELS } from "../contributions";
import { PageTab, RestoredTabs, versionOf, type PageKind } from "../page/tabs";
import type { FromComparisonPage, ToComparisonPage } from "./comparison_messages";
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

interface NamedComparison {
  readonly request: ComparisonRequest;
  readonly comparison: ShownComparison;
}

/** An open tab of the same engines shows the new result. */
export class ComparisonPanels extends RestoredTabs<NamedComparison, ComparisonTab> {
  constructor(
    app: App,
    private readonly compareAgain: CompareAgain,
  ) {
    super(app, PANELS.comparison);
  }

  protected override keyOf = ({ request }: NamedComparison): string => JSON.stringify(request);
  protected override titleOf = titleOf;

  protected override tab(panel: vscode.WebviewPanel, named: NamedComparison): ComparisonTab {
    return new ComparisonTab(this.app, panel, named, this.compareAgain);
  }
}

const TAB: PageKind = {
  script: "comparison_page",
  doing: "a comparison’s page",
  draws: "comparison",
};

class ComparisonTab extends PageTab<FromComparisonPage, ToComparisonPage> {
  constructor(
    app: App,
    panel: vscode.WebviewPanel,
    private named: NamedComparison,
    private readonly compareAgain: CompareAgain,
  ) {
    super(app, panel, TAB, titleOf(named));
  }

  fill(named: NamedComparison): void {
    this.named = named;
    this.panel.title = titleOf(named);
    this.send();
  }

  protected override async take({ kind }: FromComparisonPage): Promise<void> {
    const { request } = this.named;
    switch (kind) {
      case "ready":
        this.send();
        break;
      case "again":
        await this.repeat(
          () => this.compareAgain(request),
          (comparison) => {
            this.fill({ request, comparison });
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
    const { stored } = this.named.comparison;
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
    const { stored } = this.named.comparison;
    const { text } = await this.app.sidecar.request(COMPARISON_MARKDOWN, { stored });
    await this.copy(text, vscode.l10n.t("Copied as Markdown."));
  }

  private send(): void {
    const { comparison, request } = this.named;
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

function titleOf({ comparison: { a, b } }: NamedComparison): string {
  return vscode.l10n.t("{0} and {1}", plain(a.name, 40), plain(b.name, 40));
}
