/** The cells of a table: which one a key leads to, and how headings sort. */

/** A cell; row 0 has the headings. */
export interface CellPosition {
  readonly row: number;
  readonly column: number;
}

/** A key press; `ctrlKey` makes Home and End go to the ends of the table. */
interface KeyPress {
  readonly key: string;
  readonly ctrlKey: boolean;
}

const PAGE = 10;

/** The cell that a key leads to from `at`, inside of `rows` x `columns`; undefined for keys that lead nowhere. */
export function movedTo(
  press: KeyPress,
  at: CellPosition,
  rows: number,
  columns: number,
): CellPosition | undefined {
  const to = wanted(press, at, rows, columns);
  return (
    to && {
      row: Math.min(Math.max(to.row, 0), rows - 1),
      column: Math.min(Math.max(to.column, 0), columns - 1),
    }
  );
}

export interface TableColumn {
  readonly id: string;
  readonly title: string;
  readonly isNumber: boolean;
  /** Its heading sorts. */
  readonly sorts: boolean;
  /** For how many columns the heading stands, if not for one. */
  readonly span?: number;
}

/** Numbers are sorted descending, text ascending; the same heading again reverses the order. */
export function sortedBy(
  column: Pick<TableColumn, "id" | "isNumber">,
  now: { readonly sort: string; readonly descending: boolean },
): { readonly sort: string; readonly descending: boolean } {
  const descending = now.sort === column.id ? !now.descending : column.isNumber;
  return { sort: column.id, descending };
}

function wanted(
  { key, ctrlKey }: KeyPress,
  { row, column }: CellPosition,
  rows: number,
  columns: number,
): CellPosition | undefined {
  switch (key) {
    case "ArrowUp":
      return { row: row - 1, column };
    case "ArrowDown":
      return { row: row + 1, column };
    case "ArrowLeft":
      return { row, column: column - 1 };
    case "ArrowRight":
      return { row, column: column + 1 };
    case "PageUp":
      return { row: row - PAGE, column };
    case "PageDown":
      return { row: row + PAGE, column };
    case "Home":
      return { row: ctrlKey ? 0 : row, column: 0 };
    case "End":
      return { row: ctrlKey ? rows - 1 : row, column: columns - 1 };
    default:
      return undefined;
  }
}
