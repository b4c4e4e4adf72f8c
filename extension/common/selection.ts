/** Which rows a command is meant for. */

import { isRow, type Row } from "../rows";

/**
 * Remembers the selection of the view that was used last.
 *
 * 1. Called on a row that is part of a selection of several (context menu): the whole selection, that row first,
 *    since what is done to one alone is meant for it.
 * 2. Called on a row (inline button, click): that row.
 * 3. Called without one (key, palette): what is selected.
 */
export class LastSelection {
  rows: readonly Row[] = [];

  set(rows: readonly Row[]): void {
    this.rows = rows;
  }

  of(args: readonly unknown[]): readonly Row[] {
    const [first, several] = args;
    if (Array.isArray(several) && several.length > 0 && several.every(isRow)) {
      return [...several.filter((row) => row === first), ...several.filter((row) => row !== first)];
    }
    return isRow(first) ? [first] : this.rows;
  }
}
