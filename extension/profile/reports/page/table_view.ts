/** A table of a report: sorted by its headings, searched, copied, walked through with the arrow keys. */

import { l10n } from "../../../page/frame/l10n";
import type { VscodeTextfield } from "@vscode-elements/elements/dist/vscode-textfield/index.js";

import type { Column, Table } from "../messages";
import type { TableQuery } from "../page_messages";

import { isExported } from "../../../page/frame/editor";
import { pageState, post, savePageState } from "./editor";
import { button, element, withCode } from "../../../page/frame/elements";
import { singleLine } from "../../../page/frame/texts";
import { sortedBy } from "../../../page/frame/grid";
import { SortedTable, tableCell } from "../../../page/frame/table";
import { cellText, isNumber, type Cell } from "./texts";

/** A search begins after a pause in typing of this length. */
const DEBOUNCE_MS = 150;
/** How many rows more “Show More” asks for. */
const MORE = 200;

export class TableView {
  readonly id: Table["id"];
  readonly root: HTMLElement;
  private query: TableQuery;
  /** The rows that the page has, in their first order. */
  private readonly complete: Table;
  private typing: number | undefined;
  /** Why the requested rows are not available. */
  private reason = "";
  private readonly body: SortedTable;
  private readonly count = element("span", { class: "badge" });
  private readonly field: VscodeTextfield;

  constructor(private table: Table) {
    this.id = table.id;
    this.complete = table;
    const usual: TableQuery = {
      table: table.id,
      sort: table.sorted_by,
      descending: table.descending,
      search: "",
      limit: Math.max(table.rows.length, 1),
    };
    this.query = pageState().queries[table.id] ?? usual;
    this.field = searchField(table.title, this.query.search);
    this.field.addEventListener("input", () => {
      this.search(DEBOUNCE_MS);
    });
    this.field.addEventListener("change", () => {
      this.search(0);
    });
    this.body = new SortedTable(table.title, {
      sort: (column) => {
        this.ask(
          sortedBy(column, { sort: this.table.sorted_by, descending: this.table.descending }),
        );
      },
    });
    this.root = this.section();
    this.draw();
    if (JSON.stringify(this.query) !== JSON.stringify(usual)) {
      post({ kind: "query", query: this.query });
    }
  }

  /** Shows requested rows; rows of an older query are ignored. */
  update(query: TableQuery, table: Table, reason = ""): void {
    if (JSON.stringify(query) === JSON.stringify(this.query)) {
      this.table = table;
      this.reason = reason;
      this.draw();
    }
  }

  /** Shows no rows of another query beside one that failed. */
  fail(query: TableQuery, reason: string): void {
    const { sort, descending } = query;
    this.update(query, { ...this.table, rows: [], total: 0, sorted_by: sort, descending }, reason);
  }

  private section(): HTMLElement {
    const copy = (title: string, format: "markdown" | "csv"): HTMLElement =>
      button(title, () => {
        post({ kind: "copy", query: this.query, format });
      });
    const { id, title, note } = this.table;
    const name = element("h2", { id: `${id}-title` }, title, " ", this.count);
    return element(
      "section",
      { id, "aria-labelledby": `${id}-title` },
      element(
        "div",
        { class: "head" },
        name,
        this.field,
        ...(isExported
          ? []
          : [copy(l10n.t("Copy as Markdown"), "markdown"), copy(l10n.t("Copy as CSV"), "csv")]),
      ),
      ...(note === "" ? [] : [element("p", { class: "note" }, singleLine(note))]),
      this.body.root,
    );
  }

  private search(afterMs: number): void {
    window.clearTimeout(this.typing);
    this.typing = window.setTimeout(() => {
      const search = this.field.value;
      if (search !== this.query.search) {
        this.ask({ search });
      }
    }, afterMs);
  }

  private ask(changes: Partial<TableQuery>): void {
    this.query = { ...this.query, ...changes };
    if (isExported) {
      this.update(this.query, answered(this.complete, this.query));
      return;
    }
    savePageState({ queries: { ...pageState().queries, [this.id]: this.query } });
    post({ kind: "query", query: this.query });
  }

  private draw(): void {
    const { columns, rows, total, sorted_by, descending } = this.table;
    this.count.textContent = this.reason === "" ? String(total) : cellText(null, "count");
    const left = total - rows.length;
    const more = button(l10n.t("Show {0} More of {1}", Math.min(left, MORE), left), () => {
      this.ask({ limit: rows.length + MORE });
    });
    const leftOut = l10n.t("{0} more rows are not in this file.", left);
    const reason = withCode(this.reason || l10n.t("No row has this text in it."));
    const empty = element("p", { class: "nothing" }, ...reason);
    this.body.draw(
      {
        columns: columns.map(({ id, title, kind }) => ({
          ...{ id, title, isNumber: isNumber(kind), sorts: true },
        })),
        rows: rows.map((row) => tableRow(columns, row)),
        total,
        sort: sorted_by,
        descending,
      },
      ...(rows.length === 0 ? [empty] : []),
      ...(left > 0 ? [isExported ? element("p", { class: "note" }, leftOut) : more] : []),
    );
  }
}

/** The answer of the editor to `query`, from the rows that an exported page has. */
function answered(table: Table, { sort, descending, search, limit }: TableQuery): Table {
  const { columns } = table;
  const at = columns.findIndex(({ id }) => id === sort);
  const wanted = search.toLowerCase();
  const rows = table.rows
    .filter((row) =>
      row.some((cell, i) =>
        cellText(cell, columns[i]?.kind ?? "text")
          .toLowerCase()
          .includes(wanted),
      ),
    )
    .sort((a, b) => compared(a[at] ?? null, b[at] ?? null) * (descending ? -1 : 1));
  const sorted = { ...table, sorted_by: sort, descending, total: rows.length };
  return { ...sorted, rows: rows.slice(0, Math.max(limit, table.rows.length)) };
}

function compared(a: Cell, b: Cell): number {
  return typeof a === "number" && typeof b === "number"
    ? a - b
    : String(a ?? "").localeCompare(String(b ?? ""));
}

function searchField(title: string, value: string): VscodeTextfield {
  const label = l10n.t("Search in {0}", title);
  const field = element("vscode-textfield", { placeholder: l10n.t("Search") });
  field.label = label;
  field.value = value;
  return field;
}

function tableRow(columns: readonly Column[], row: readonly Cell[]): HTMLTableRowElement {
  return element(
    "tr",
    {},
    ...columns.map((column, index) => valueCell(column, row[index] ?? null)),
  );
}

function valueCell({ kind }: Column, cell: Cell): HTMLElement {
  const text = singleLine(cellText(cell, kind));
  const made = tableCell({ isNumber: isNumber(kind) }, text);
  made.title = text;
  if (kind === "share" && typeof cell === "number") {
    made.classList.add("share");
    made.style.setProperty("--part", `${Math.min(Math.max(cell, 0), 1) * 100}%`);
  }
  return made;
}
