/** The panel of Eagleray: the rows of its views, which of them are selected, and whether any view is visible. */

import type { TreeView } from "vscode";

import { Disposables, type Disposable } from "./common/disposables";
import { Store, type Readable } from "./common/store";
import { isRow, type Row } from "./rows";

export class Panel implements Disposable {
  private readonly shown = new Store(false);
  private readonly views: TreeView<unknown>[] = [];
  private readonly owned = new Disposables();

  get visible(): Readable<boolean> {
    return this.shown;
  }

  /** Takes a view of the panel into account. */
  add(view: TreeView<unknown>): void {
    this.views.push(view);
    this.owned.add(
      view.onDidChangeVisibility(() => {
        this.update();
      }),
    );
    this.update();
  }

  dispose(): void {
    this.owned.dispose();
  }

  private update(): void {
    const visible = this.views.some((view) => view.visible);
    if (visible !== this.shown.value) {
      this.shown.set(visible);
    }
  }
}

/**
 * Remembers the selection of the view that was used last, and decides for which rows a command was called.
 *
 * VS Code passes (measured with 1.139):
 *
 * - keys and the palette: nothing (the keys of our views have the argument FOCUSED_ROW);
 * - a title button: `[row]`, the row with the focus, or `[undefined]` without one;
 * - a click: `[row]`, also while the view is being redrawn;
 * - an inline button or the context menu: `[row, undefined]`, or `[row, rows]` if the row is one of several that are
 *   selected.  While the view is being redrawn, or if the row went while the menu was open, it passes `undefined` in
 *   place of the row and of each of `rows`.
 */
export class Selection {
  rows: readonly Row[] = [];
  private changes: (readonly Row[])[] | undefined;
  /** Settles once the key that was pressed last has its rows. */
  private lastKey: Promise<unknown> = Promise.resolve();

  set(rows: readonly Row[]): void {
    this.rows = rows;
    this.changes?.push(rows);
  }

  /**
   * The rows for a key: the row with the focus or, if it is one of several that are selected, all of them, that row
   * first; undefined while the view is being redrawn.
   *
   * Arrow keys move the focus without selecting, and VS Code tells extensions only what is selected (1.139.1;
   * `activeItem` is proposed API).  `toggle` selects or deselects the row with the focus; doing it twice changes nothing
   * and shows which row it is.  Keys that are pressed meanwhile wait, since their changes would be taken for the first's.
   */
  withFocus(toggle: () => PromiseLike<unknown>): Promise<readonly Row[] | undefined> {
    const rows = this.lastKey.then(() => this.toggledTwice(toggle));
    this.lastKey = rows.catch(() => undefined);
    return rows;
  }

  private async toggledTwice(
    toggle: () => PromiseLike<unknown>,
  ): Promise<readonly Row[] | undefined> {
    const changes: (readonly Row[])[] = [];
    this.changes = changes;
    try {
      await toggle();
      await toggle();
    } finally {
      this.changes = undefined;
    }
    const [first, second] = changes;
    if (first === undefined || second === undefined) {
      return first === undefined ? [] : undefined;
    }
    const [focused, ...more] = [
      ...first.filter((row) => !second.includes(row)),
      ...second.filter((row) => !first.includes(row)),
    ];
    if (focused === undefined || more.length > 0) {
      return undefined;
    }
    const isSelected = second.includes(focused);
    return [focused, ...(isSelected ? second.filter((row) => row !== focused) : [])];
  }

  /**
   * The rows for a command with these arguments.
   *
   * 1. Called on a row that the list no longer has, or on several of which one is gone: undefined.  The selection may
   *    be another worker, which must not continue instead.
   * 2. Called on one of several selected rows: all of them, that row first, since commands for a single row use it.
   * 3. Called on a row: that row.
   * 4. Called without one: what is selected.
   */
  of(args: readonly unknown[]): readonly Row[] | undefined {
    const [first, several] = args;
    const others: readonly unknown[] = Array.isArray(several) ? several : [];
    const isFromRow = args.length > 1 && (several === undefined || Array.isArray(several));
    if (isFromRow && [first, ...others].includes(undefined)) {
      return undefined;
    }
    if (!isRow(first)) {
      return this.rows;
    }
    return [first, ...others.filter(isRow).filter((row) => row !== first)];
  }
}

/** The argument of the keys of our views. */
export const FOCUSED_ROW = "focusedRow";
