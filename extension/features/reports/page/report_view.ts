/** The summary from top to bottom: what was recorded, warnings, GPUs, tables. */

import type { Report, Table } from "../messages";
import type { TableQuery } from "../page_messages";
import type { ReportTexts } from "../report_texts";
import { post } from "./editor";
import { button, element } from "./elements";
import { GpuView } from "./gpu_view";
import { factsOf, recordingText, singleLine } from "./texts";
import { TableView } from "./table_view";

export class ReportView {
  readonly root: HTMLElement;
  private readonly gpus: readonly GpuView[];
  private readonly tables: readonly TableView[];

  constructor(texts: ReportTexts, report: Report, title: string) {
    this.gpus = report.gpus.map((gpu) => new GpuView(texts, gpu));
    this.tables = report.tables.map((table) => new TableView(texts, table));
    const isEmpty = this.gpus.length === 0 && this.tables.length === 0;
    this.root = element(
      "article",
      {},
      head(texts, report, title),
      ...warnings(texts, report),
      ...(isEmpty ? [nothing(texts)] : [contents(texts, report)]),
      ...this.gpus.map((gpu) => gpu.root),
      ...this.tables.map((table) => table.root),
      facts(texts, report),
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

function head(texts: ReportTexts, report: Report, title: string): HTMLElement {
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
      button(texts.openInNsight, poster("openInNsight"), true),
      button(texts.copyMarkdown, poster("copyReport")),
      button(texts.copyPath, poster("copyPath")),
      button(texts.reveal, poster("reveal")),
    ),
  );
}

function warnings(texts: ReportTexts, report: Report): HTMLElement[] {
  const rows = report.warnings.map(({ message, next_step }) =>
    element("li", {}, element("strong", {}, message), ` ${next_step}`),
  );
  return rows.length === 0
    ? []
    : [
        element(
          "section",
          { class: "warnings", "aria-label": texts.warnings },
          element("h2", {}, rows.length === 1 ? texts.warning : texts.warnings),
          element("ul", {}, ...rows),
        ),
      ];
}

function nothing(texts: ReportTexts): HTMLElement {
  return element("p", { class: "nothing" }, texts.nothing);
}

/** Links to the tables; the editor follows them inside of the page. */
function contents(texts: ReportTexts, { tables }: Report): HTMLElement {
  const links = tables.map(({ id, title }) =>
    element("a", { href: `#${id}`, class: "link" }, title),
  );
  return element("nav", { "aria-label": texts.tables }, ...links);
}

function facts(texts: ReportTexts, report: Report): HTMLElement {
  const rows = factsOf(texts, report).flatMap(({ name, value }) => [
    element("dt", {}, name),
    element("dd", {}, singleLine(value)),
  ]);
  return element(
    "section",
    { "aria-label": texts.recording },
    element("h2", {}, texts.recording),
    element("dl", {}, ...rows),
  );
}
