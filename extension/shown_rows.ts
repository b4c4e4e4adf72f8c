/** The rows that the editor has of a view, and which of them have changed. */

import type { RowTexts } from "./common/texts";
import type { Row } from "./rows";

/** The content of a view; pure, so that it is tested without an editor. */
export interface TreeModel<R extends Row> {
  children(row?: R): readonly R[];
  texts(row: R): RowTexts;
  /** The command that a click or Enter runs, with the row as its argument. */
  click?(row: R): string | undefined;
}

/** `drawn` is what the editor shows of the row, and `children` are there once it has asked for them. */
interface ShownRow<R> {
  readonly id: string;
  readonly row: R;
  drawn: string;
  isChanged: boolean;
  children?: readonly ShownRow<R>[];
}

/** A row stays the same object for as long as it is listed, and gets its new content. */
export class ShownRows<R extends Row> {
  private top: readonly ShownRow<R>[] | undefined;
  private readonly shown = new WeakMap<R, ShownRow<R>>();

  constructor(private readonly model: TreeModel<R>) {}

  /** The rows below `parent`, as the editor asks for them. */
  below(parent?: R): R[] {
    const above = parent && this.shown.get(parent);
    const rows = this.listed(parent, above ? above.children : this.top);
    if (above !== undefined) {
      above.children = rows;
    } else if (parent === undefined) {
      this.top = rows;
    }
    return rows.map(({ row }) => row);
  }

  /** The rows that are to be drawn again, each with all that is below it; undefined for all rows. */
  changed(): R[] | undefined {
    const before = this.top;
    if (before === undefined) {
      return undefined;
    }
    this.top = this.listed(undefined, before);
    return areSame(before, this.top) ? this.changedOf(this.top) : undefined;
  }

  private listed(parent: R | undefined, before: readonly ShownRow<R>[] = []): ShownRow<R>[] {
    const earlier = new Map(before.map((shown) => [shown.id, shown]));
    return this.model.children(parent).map((row) => {
      const texts = this.model.texts(row);
      const drawn = JSON.stringify([texts, this.model.click?.(row)]);
      const shown = earlier.get(texts.id);
      if (shown === undefined) {
        const added = { id: texts.id, row, drawn, isChanged: true };
        this.shown.set(row, added);
        return added;
      }
      replaceContent(shown.row, row);
      shown.isChanged = shown.drawn !== drawn;
      shown.drawn = drawn;
      return shown;
    });
  }

  private changedOf(rows: readonly ShownRow<R>[]): R[] {
    return rows.flatMap((shown) => {
      const before = shown.children;
      if (shown.isChanged || before === undefined) {
        return shown.isChanged ? [shown.row] : [];
      }
      shown.children = this.listed(shown.row, before);
      return areSame(before, shown.children) ? this.changedOf(shown.children) : [shown.row];
    });
  }
}

function areSame<T>(some: readonly T[], others: readonly T[]): boolean {
  return some.length === others.length && some.every((item, index) => item === others[index]);
}

function replaceContent(row: object, by: object): void {
  for (const key of Object.keys(row)) {
    Reflect.deleteProperty(row, key);
  }
  Object.assign(row, by);
}
