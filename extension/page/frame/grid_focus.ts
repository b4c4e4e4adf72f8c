/** Walks through the cells of a table by keys. */

import { movedTo, type CellPosition } from "./grid";

interface GridActions {
  /** Called for each cell that gets the focus. */
  readonly focused?: (cell: HTMLTableCellElement, at: CellPosition) => void;
  /** Enter or Space on a cell without a button; whether the table does something with it. */
  readonly chosen?: (at: CellPosition) => boolean;
}

/**
 * The Tab key leads to one cell of a table, the one that it was left at. A cell with a button gives the focus to it.
 * All cells or their buttons need a `tabindex` of -1; rows may have different lengths.
 */
export class GridFocus {
  private place: CellPosition = { row: 0, column: 0 };

  constructor(
    private readonly table: HTMLTableElement,
    private readonly actions: GridActions = {},
    at: CellPosition = { row: 0, column: 0 },
  ) {
    table.addEventListener("keydown", (event) => {
      this.press(event);
    });
    table.addEventListener("focusin", ({ target }) => {
      const cell = (target as HTMLElement).closest<HTMLTableCellElement>("th,td");
      if (cell !== null) {
        this.moveTo({ row: cell.closest("tr")?.rowIndex ?? 0, column: cell.cellIndex });
        this.actions.focused?.(cell, this.place);
      }
    });
    this.moveTo({ row: Math.min(at.row, table.rows.length - 1), column: at.column });
  }

  get at(): CellPosition {
    return this.place;
  }

  focus(): void {
    this.stopAt(this.place)?.focus();
  }

  private press(event: KeyboardEvent): void {
    const { key, altKey, metaKey, target } = event;
    // A button is pressed by the browser.
    if ((key === "Enter" || key === " ") && !(target instanceof HTMLButtonElement)) {
      if (this.actions.chosen?.(this.place) === true) {
        event.preventDefault();
      }
      return;
    }
    const { rows } = this.table;
    const columns = Math.max(...Array.from(rows, ({ cells }) => cells.length));
    const to = movedTo(event, this.place, rows.length, columns);
    if (to !== undefined && !altKey && !metaKey) {
      event.preventDefault();
      this.stopAt(to)?.focus();
    }
  }

  private moveTo(to: CellPosition): void {
    this.stopAt(this.place)?.setAttribute("tabindex", "-1");
    this.place = to;
    this.stopAt(to)?.setAttribute("tabindex", "0");
  }

  private stopAt({ row, column }: CellPosition): HTMLElement | undefined {
    const cells = this.table.rows[row]?.cells;
    const cell = cells?.[Math.min(column, cells.length - 1)];
    return cell?.querySelector("button") ?? cell;
  }
}
