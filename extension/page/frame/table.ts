/** A table that its headings sort, walked through with the arrow keys. */

import { element, type Child } from "./elements";
import type { CellPosition, TableColumn } from "./grid";
import { GridFocus } from "./grid_focus";

export interface TableRows {
  readonly columns: readonly TableColumn[];
  readonly rows: readonly HTMLTableRowElement[];
  /** Rows with those that aren't drawn; undefined where they aren't counted. */
  readonly total: number | undefined;
  /** The id of the column that sorts, "" for none. */
  readonly sort?: string;
  readonly descending?: boolean;
}

interface TableActions {
  /** A heading was clicked, or chosen by a key. */
  readonly sort?: (column: TableColumn) => void;
  /** A row was chosen by a key, the first is 0. */
  readonly open?: (row: number) => void;
}

/** A table that keeps the cell with the keyboard focus when its rows are drawn again. */
export class SortedTable {
  readonly root = element("div", { class: "table" });
  private grid: GridFocus | undefined;

  /** `label` names the table for screen readers. */
  constructor(
    private readonly label: string,
    private readonly actions: TableActions = {},
  ) {}

  /** Draws the rows, and `below` under them. */
  draw(shown: TableRows, ...below: readonly HTMLElement[]): void {
    const { columns, rows, total } = shown;
    const hadFocus = this.root.contains(document.activeElement);
    const table = element(
      "table",
      {
        role: "grid",
        "aria-label": this.label,
        "aria-rowcount": String(total === undefined ? -1 : total + 1),
      },
      element("thead", {}, element("tr", {}, ...columns.map((each) => this.heading(each, shown)))),
      element("tbody", {}, ...rows),
    );
    this.root.replaceChildren(table, ...below);
    const chosen = (at: CellPosition): boolean => this.choose(at, columns);
    this.grid = new GridFocus(table, { chosen }, this.grid?.at);
    if (hadFocus) {
      this.grid.focus();
    }
  }

  /** The drawn row with this number; the first is 0. */
  row(at: number): HTMLTableRowElement | undefined {
    return this.root.querySelector("table")?.rows[at + 1];
  }

  private heading(column: TableColumn, { sort, descending }: TableRows): HTMLElement {
    const order = descending === true ? "descending" : "ascending";
    const { id, title, sorts, span } = column;
    const made = element(
      "th",
      {
        scope: span === undefined ? "col" : "colgroup",
        colspan: span === undefined ? undefined : String(span),
        tabindex: "-1",
        "aria-sort": sorts ? (sort === id ? order : "none") : undefined,
        class: `${kindOf(column)}${sorts ? "" : " fixed"}`,
      },
      title,
    );
    if (sorts) {
      made.addEventListener("click", () => {
        this.actions.sort?.(column);
      });
    }
    return made;
  }

  private choose({ row, column }: CellPosition, columns: readonly TableColumn[]): boolean {
    const { sort, open } = this.actions;
    const heading = columns[column];
    if (row > 0 && open !== undefined) {
      open(row - 1);
      return true;
    }
    if (row === 0 && sort !== undefined && heading?.sorts === true) {
      sort(heading);
      return true;
    }
    return false;
  }
}

/** A cell of a column, with the text that it hides in a narrow tab as its title. */
export function tableCell(
  column: Pick<TableColumn, "isNumber">,
  ...shown: readonly Child[]
): HTMLTableCellElement {
  return element("td", { tabindex: "-1", class: kindOf(column) }, ...shown);
}

function kindOf({ isNumber }: Pick<TableColumn, "isNumber">): string {
  return isNumber ? "number" : "text";
}
