/** A table of a report: sorted by its headings, searched, copied, walked through with the arrow keys. */

import type { VscodeTextfield } from "@vscode-elements/elements/dist/vscode-textfield/index.js";

import { filled } from "../../../common/filled";
import type { Column, Table } from "../messages";
import type { TableQuery } from "../page_messages";
import type { ReportTexts } from "../report_texts";
import { pageState, post, savePageState } from "./editor";
import { button, element, withCode } from "./elements";
import { movedTo, sortedBy, type CellPosition } from "./grid";
import { cellText, isNumber, singleLine, type Cell } from "./texts";

/** A search begins after a pause in typing of this length. */
const DEBOUNCE_MS = 150;
/** How many rows more “Show More” asks for. */
const MORE = 200;

export class TableView {
  readonly id: Table["id"];
  readonly root: HTMLElement;
  private query: TableQuery;
  private at: CellPosition = { row: 0, column: 0 };
  private typing: number | undefined;
  /** Why the requested rows are not available. */
  private reason = "";
  private readonly body = element("div", { class: "table" });
  private readonly count = element("span", { class: "badge" });
  private readonly field: VscodeTextfield;

  constructor(
    private readonly texts: ReportTexts,
    private table: Table,
  ) {
    this.id = table.id;
    const usual: TableQuery = {
      table: table.id,
      sort: table.sorted_by,
      descending: table.descending,
      search: "",
      limit: Math.max(table.rows.length, 1),
    };
    this.query = pageState().queries[table.id] ?? usual;
    this.field = searchField(texts, table.title, this.query.search);
    this.field.addEventListener("input", () => {
      this.search(DEBOUNCE_MS);
    });
    this.field.addEventListener("change", () => {
      this.search(0);
    });
    this.root = this.section();
    this.draw();
    if (JSON.stringify(this.query) !== JSON.stringify(usual)) {
      post({ kind: "query", query: this.query });
    }
  }

  /** Shows requested rows; those of an older query are ignored. */
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
        copy(this.texts.copyMarkdown, "markdown"),
        copy(this.texts.copyCsv, "csv"),
      ),
      ...(note === "" ? [] : [element("p", { class: "note" }, singleLine(note))]),
      this.body,
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
    savePageState({ queries: { ...pageState().queries, [this.id]: this.query } });
    post({ kind: "query", query: this.query });
  }

  private draw(): void {
    const { rows, total } = this.table;
    const hadFocus = this.body.contains(document.activeElement);
    this.count.textContent = this.reason === "" ? String(total) : cellText(null, "count");
    const left = total - rows.length;
    const more = button(filled(this.texts.showMore, Math.min(left, MORE), left), () => {
      this.ask({ limit: rows.length + MORE });
    });
    const reason = withCode(this.reason || this.texts.noRow);
    const empty = element("p", { class: "nothing" }, ...reason);
    this.body.replaceChildren(
      this.grid(),
      ...(rows.length === 0 ? [empty] : []),
      ...(left > 0 ? [more] : []),
    );
    this.focusCell(this.at, hadFocus);
  }

  private grid(): HTMLElement {
    const { columns, rows, title } = this.table;
    const headings = columns.map((column) => this.heading(column));
    const made = element(
      "table",
      { role: "grid", "aria-label": title, "aria-rowcount": String(this.table.total + 1) },
      element("thead", {}, element("tr", {}, ...headings)),
      element("tbody", {}, ...rows.map((row) => tableRow(columns, row))),
    );
    made.addEventListener("keydown", (event) => {
      this.press(event);
    });
    made.addEventListener("focusin", ({ target }) => {
      const cell = (target as HTMLElement).closest<HTMLTableCellElement>("th,td");
      if (cell !== null) {
        const row = cell.closest("tr")?.rowIndex ?? 0;
        this.focusCell({ row, column: cell.cellIndex }, false);
      }
    });
    return made;
  }

  private heading(column: Column): HTMLElement {
    const { sorted_by, descending } = this.table;
    const order = descending ? "descending" : "ascending";
    const made = element(
      "th",
      {
        scope: "col",
        tabindex: "-1",
        "aria-sort": sorted_by === column.id ? order : "none",
        class: isNumber(column.kind) ? "number" : "text",
      },
      column.title,
    );
    made.addEventListener("click", () => {
      this.sort(column);
    });
    return made;
  }

  private sort(column: Column): void {
    this.ask(sortedBy(column, { sort: this.table.sorted_by, descending: this.table.descending }));
  }

  private press(event: KeyboardEvent): void {
    const { columns, rows } = this.table;
    const column = columns[this.at.column];
    if ((event.key === "Enter" || event.key === " ") && this.at.row === 0 && column) {
      event.preventDefault();
      this.sort(column);
      return;
    }
    const to = movedTo(event, this.at, rows.length + 1, columns.length);
    if (to !== undefined && !event.altKey && !event.metaKey) {
      event.preventDefault();
      this.focusCell(to, true);
    }
  }

  /** The Tab key leads to one cell of the table, the one that it was left at. */
  private focusCell(to: CellPosition, withFocus: boolean): void {
    this.cell(this.at)?.setAttribute("tabindex", "-1");
    this.at = { row: Math.min(to.row, this.table.rows.length), column: to.column };
    const cell = this.cell(this.at);
    cell?.setAttribute("tabindex", "0");
    if (withFocus) {
      cell?.focus();
    }
  }

  private cell({ row, column }: CellPosition): HTMLElement | undefined {
    return this.body.querySelector("table")?.rows[row]?.cells[column];
  }
}

function searchField(texts: ReportTexts, title: string, value: string): VscodeTextfield {
  const label = filled(texts.searchIn, title);
  const field = element("vscode-textfield", { placeholder: texts.search });
  field.label = label;
  field.value = value;
  return field;
}

function tableRow(columns: readonly Column[], row: readonly Cell[]): HTMLElement {
  return element(
    "tr",
    {},
    ...columns.map((column, index) => tableCell(column, row[index] ?? null)),
  );
}

function tableCell({ kind }: Column, cell: Cell): HTMLElement {
  const text = singleLine(cellText(cell, kind));
  const made = element(
    "td",
    { tabindex: "-1", class: isNumber(kind) ? "number" : "text", title: text },
    text,
  );
  if (kind === "share" && typeof cell === "number") {
    made.classList.add("share");
    made.style.setProperty("--part", `${Math.min(Math.max(cell, 0), 1) * 100}%`);
  }
  return made;
}
