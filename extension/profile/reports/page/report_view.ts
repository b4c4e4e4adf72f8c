/** The summary from top to bottom: what was recorded, warnings, GPUs, tables. */

import { l10n } from "../../../page/frame/l10n";
import type { Report, Table } from "../messages";
import type { TableQuery } from "../page_messages";

import { exportButton, post } from "./editor";
import { button, element } from "../../../page/frame/elements";
import { singleLine } from "../../../page/frame/texts";
import { GpuView } from "./gpu_view";
import { factsOf, recordingText } from "./texts";
import { TableView } from "./table_view";

export class ReportView {
  readonly root: HTMLElement;
  private readonly gpus: readonly GpuView[];
  private readonly tables: readonly TableView[];

  constructor(report: Report, title: string) {
    this.gpus = report.gpus.map((gpu) => new GpuView(gpu));
    this.tables = report.tables.map((table) => new TableView(table));
    const isEmpty = this.gpus.length === 0 && this.tables.length === 0;
    this.root = element(
      "article",
      {},
      head(report, title),
      ...warnings(report),
      ...(isEmpty ? [nothing()] : [contents(report)]),
      ...this.gpus.map((gpu) => gpu.root),
      ...this.tables.map((table) => table.root),
      facts(report),
    );
  }

  update(query: TableQuery, table: Table): void {
    this.tables.find(({ id }) => id === table.id)?.update(query, table);
  }

  fail(query: TableQuery, reason: string): void {
    this.tables.find(({ id }) => id === query.table)?.fail(query, reason);
  }

  end(): void {
    for (const gpu of this.gpus) {
      gpu.end();
    }
  }
}

function head(report: Report, title: string): HTMLElement {
  const poster = (kind: "openInNsight" | "copyReport" | "copyPath" | "reveal") => (): void => {
    post({ kind });
  };
  const recorded = recordingText(report, title);
  const from = recorded === "" ? [] : [element("p", { class: "from" }, recorded)];
  return element(
    "header",
    {},
    element("h1", {}, singleLine(title)),
    ...from,
    element(
      "div",
      { class: "buttons" },
      button(l10n.t("Open in Nsight Systems"), poster("openInNsight"), true),
      button(l10n.t("Copy as Markdown"), poster("copyReport")),
      exportButton(),
      button(l10n.t("Copy Path"), poster("copyPath")),
      button(l10n.t("Reveal File"), poster("reveal")),
    ),
  );
}

function warnings(report: Report): HTMLElement[] {
  const rows = report.warnings.map(({ message, next_step }) =>
    element("li", {}, element("strong", {}, message), ` ${next_step}`),
  );
  return rows.length === 0
    ? []
    : [
        element(
          "section",
          { class: "warnings", "aria-label": l10n.t("Warnings") },
          element("h2", {}, rows.length === 1 ? l10n.t("Warning") : l10n.t("Warnings")),
          element("ul", {}, ...rows),
        ),
      ];
}

function nothing(): HTMLElement {
  return element(
    "p",
    { class: "nothing" },
    l10n.t(
      "Nothing was recorded. Record longer, or trace what the program does: cuda, nvtx, osrt.",
    ),
  );
}

/** Links to the tables; the editor follows them inside of the page. */
function contents({ tables }: Report): HTMLElement {
  const links = tables.map(({ id, title }) =>
    element("a", { href: `#${id}`, class: "link" }, title),
  );
  return element("nav", { "aria-label": l10n.t("Tables") }, ...links);
}

function facts(report: Report): HTMLElement {
  const rows = factsOf(report).flatMap(({ name, value }) => [
    element("dt", {}, name),
    element("dd", {}, singleLine(value)),
  ]);
  return element(
    "section",
    { "aria-label": l10n.t("Recording") },
    element("h2", {}, l10n.t("Recording")),
    element("dl", {}, ...rows),
  );
}
