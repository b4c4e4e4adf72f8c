/** The items and attributes of a value as a tree, whose parts are read when they are opened. */

import { button, element } from "../../../page/frame/elements";
import { l10n } from "../../../page/frame/l10n";
import { SortedTable, tableCell } from "../../../page/frame/table";
import type { ValueChild, ValueRecord } from "../value_messages";
import { post } from "./editor";

const COLUMNS = [
  { id: "name", title: l10n.t("Name"), isNumber: false, sorts: false },
  { id: "type", title: l10n.t("Type"), isNumber: false, sorts: false },
  { id: "value", title: l10n.t("Value"), isNumber: false, sorts: false },
];

export class ChildrenView {
  private readonly table = new SortedTable(l10n.t("Items"));
  readonly root = element(
    "section",
    { "aria-labelledby": "items-title" },
    element("h2", { id: "items-title" }, l10n.t("Items")),
    this.table.root,
  );
  private readonly opened = new Map<string, ValueRecord | undefined>();
  private expression = "";
  private record: ValueRecord = {};

  draw(expression: string, record: ValueRecord): void {
    this.expression = expression;
    this.record = record;
    // Open parts are read again, since their values are others now.
    for (const each of this.opened.keys()) {
      post({ kind: "expand", expression: each });
    }
    this.redraw();
  }

  fill(expression: string, record: ValueRecord): void {
    if (this.opened.has(expression)) {
      this.opened.set(expression, record);
      this.redraw();
    }
  }

  private redraw(): void {
    const rows = this.rows(this.expression, this.record, 1);
    this.table.draw({ columns: COLUMNS, rows, total: rows.length });
  }

  private rows(owner: string, record: ValueRecord, level: number): HTMLTableRowElement[] {
    const { children = [], left_out = 0, error } = record;
    const rows = children.flatMap((child) => {
      const expression = child.reach === "" ? "" : `${grouped(owner)}${child.reach}`;
      const row = this.row(child, expression, level);
      const inner = this.opened.get(expression);
      return inner === undefined ? [row] : [row, ...this.rows(expression, inner, level + 1)];
    });
    const more =
      error ??
      (left_out > 0 ? l10n.t("{0} more aren’t shown.", left_out.toLocaleString("en")) : "");
    return more === "" ? rows : [...rows, noteRow(more, level)];
  }

  private row(child: ValueChild, expression: string, level: number): HTMLTableRowElement {
    const { name, type, text, count, is_array } = child;
    const isOpen = this.opened.has(expression);
    let shown: HTMLElement = element("span", {}, name);
    if (expression !== "" && is_array) {
      shown = button(name, () => {
        post({ kind: "open", expression });
      });
      shown.title = l10n.t("View Value");
    } else if (expression !== "" && count > 0) {
      shown = button(`${isOpen ? "▾" : "▸"} ${name}`, () => {
        this.toggle(expression);
      });
      shown.setAttribute("aria-expanded", String(isOpen));
    }
    shown.tabIndex = shown instanceof HTMLButtonElement ? -1 : shown.tabIndex;
    shown.classList.add("name", `level${Math.min(level, 8)}`);
    const cell = tableCell({ isNumber: false }, shown);
    return element(
      "tr",
      {},
      cell,
      tableCell({ isNumber: false }, type),
      tableCell({ isNumber: false }, text),
    );
  }

  private toggle(expression: string): void {
    if (this.opened.delete(expression)) {
      this.redraw();
      return;
    }
    this.opened.set(expression, undefined);
    post({ kind: "expand", expression });
  }
}

/** An expression that a part can follow. */
function grouped(expression: string): string {
  return /^[\w.[\]'"]+$/.test(expression) ? expression : `(${expression})`;
}

function noteRow(text: string, level: number): HTMLTableRowElement {
  const shown = element("span", { class: "note" }, text);
  shown.classList.add("name", `level${Math.min(level, 8)}`);
  const cell = tableCell({ isNumber: false }, shown);
  cell.colSpan = COLUMNS.length;
  return element("tr", {}, cell);
}
