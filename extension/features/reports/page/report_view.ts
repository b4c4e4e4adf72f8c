/** The summary from top to bottom: what was recorded, warnings, GPUs, tables. */

import type { Report, Table } from "../messages";
import type { TableQuery } from "../page_messages";
import { post } from "./editor";
import { button, element } from "./elements";
import { GpuView } from "./gpu_view";
import { factsOf, singleLine } from "./texts";
import { TableView } from "./table_view";

export class ReportView {
  readonly root: HTMLElement;
  private readonly gpus: readonly GpuView[];
  private readonly tables: readonly TableView[];

  constructor(report: Report) {
    this.gpus = report.gpus.map((gpu) => new GpuView(gpu));
    this.tables = report.tables.map((table) => new TableView(table));
    const isEmpty = this.gpus.length === 0 && this.tables.length === 0;
    this.root = element(
      "article",
      {},
      head(report),
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

function head({ name, host, duration_ns }: Report): HTMLElement {
  const poster = (kind: "openInNsight" | "copyReport" | "copyPath" | "reveal") => (): void => {
    post({ kind });
  };
  const from = host === "" ? [] : [element("p", { class: "from" }, singleLine(host))];
  return element(
    "header",
    {},
    element("h1", {}, singleLine(name)),
    ...(duration_ns === 0 ? [] : from),
    element(
      "div",
      { class: "buttons" },
      button("Open in Nsight Systems", poster("openInNsight"), true),
      button("Copy as Markdown", poster("copyReport")),
      button("Copy Path", poster("copyPath")),
      button("Reveal File", poster("reveal")),
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
          { class: "warnings", "aria-label": "Warnings" },
          element("h2", {}, rows.length === 1 ? "Warning" : "Warnings"),
          element("ul", {}, ...rows),
        ),
      ];
}

function nothing(): HTMLElement {
  return element(
    "p",
    { class: "nothing" },
    "Nothing was recorded. Record longer, or trace what the program does: cuda, nvtx, osrt.",
  );
}

/** Links to the tables; the editor follows them inside of the page. */
function contents({ tables }: Report): HTMLElement {
  const links = tables.map(({ id, title }) =>
    element("a", { href: `#${id}`, class: "link" }, title),
  );
  return element("nav", { "aria-label": "Tables" }, ...links);
}

function facts(report: Report): HTMLElement {
  const rows = factsOf(report).flatMap(({ name, value }) => [
    element("dt", {}, name),
    element("dd", {}, singleLine(value)),
  ]);
  return element(
    "section",
    { "aria-label": "Recording" },
    element("h2", {}, "Recording"),
    element("dl", {}, ...rows),
  );
}
