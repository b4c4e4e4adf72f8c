/** Walks through the cells of a table by keys; Tab leads to the one that it was left at. */

import { movedTo, type CellPosition } from "../../reports/page/grid";

interface GridActions {
  /** Called for each cell that gets the focus. */
  readonly focused?: (cell: HTMLTableCellElement, at: CellPosition) => void;
}

/** A cell with a button gives the focus to it. All cells or their buttons need a `tabindex` of -1; rows may have different lengths. */
export class GridFocus {
  private at: CellPosition = { row: 0, column: 0 };

  constructor(
    private readonly table: HTMLTableElement,
    private readonly actions: GridActions = {},
  ) {
    table.addEventListener("keydown", (event) => {
      this.press(event);
    });
    table.addEventListener("focusin", ({ target }) => {
      const cell = (target as HTMLElement).closest<HTMLTableCellElement>("th,td");
      if (cell !== null) {
        this.moveTo({ row: cell.closest("tr")?.rowIndex ?? 0, column: cell.cellIndex });
        this.actions.focused?.(cell, this.at);
      }
    });
    this.moveTo(this.at);
  }

  private press(event: KeyboardEvent): void {
    const { rows } = this.table;
    const columns = Math.max(...Array.from(rows, ({ cells }) => cells.length));
    const to = movedTo(event, this.at, rows.length, columns);
    if (to !== undefined && !event.altKey && !event.metaKey) {
      event.preventDefault();
      this.stopAt(to)?.focus();
    }
  }

  private moveTo(to: CellPosition): void {
    this.stopAt(this.at)?.setAttribute("tabindex", "-1");
    this.at = to;
    this.stopAt(to)?.setAttribute("tabindex", "0");
  }

  private stopAt({ row, column }: CellPosition): HTMLElement | undefined {
    const cells = this.table.rows[row]?.cells;
    const cell = cells?.[Math.min(column, cells.length - 1)];
    return cell?.querySelector("button") ?? cell;
  }
}
