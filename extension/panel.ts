/** The panel of Eagleray: the rows of its views, which of them are selected, and whether any view is visible. */

import type { TreeView } from "vscode";

import { Disposables, type Disposable } from "./common/disposables";
import { Store, type Readable } from "./common/readable";
import type { ClustersRow } from "./features/clusters/rows";
import type { RunsRow } from "./features/runs/rows";
import type { AllRow, PausedRow } from "./features/workers/rows";

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
 * Remembers the selection of the view that was used last.
 *
 * 1. Called on a row that is part of a selection of several (context menu): the whole selection, that row first,
 *    since commands for a single row use it.
 * 2. Called on a row (inline button, click): that row.
 * 3. Called without one (key, palette): what is selected.
 */
export class Selection {
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

/** Whether `value` is a row: commands may be called with anything, by keys, other extensions and tests. */
export function isRow(value: unknown): value is Row {
  return typeof value === "object" && value !== null && "row" in value;
}
export type Row = PausedRow | ClustersRow | AllRow | RunsRow;
