/** A part of the numbers of an array, as a table or as an image, and the fields that choose the part. */

import { button, element } from "../../../page/frame/elements";
import { l10n } from "../../../page/frame/l10n";
import { SortedTable, tableCell } from "../../../page/frame/table";
import type { ValueGrid, ValueNumber, ValuePart } from "../value_messages";
import { post } from "./editor";
import { figure, finite } from "./figures";
import { imageView } from "./image_view";

const IMAGE_SIDE = 128;
const ROWS = 50;
const COLUMNS = 20;

export class NumbersView {
  readonly root = element("section", { "aria-labelledby": "numbers-title" });
  private readonly table = new SortedTable(l10n.t("Numbers"));
  private readonly fields = element("div", { class: "fields" });
  private readonly shown = element("div");
  private readonly kind = button("", () => {
    this.isImage = !this.isImage;
    this.request(this.start());
  });
  private part: ValuePart | undefined;
  private shape: readonly number[] = [];
  private isImage = false;

  constructor() {
    this.root.append(
      element(
        "div",
        { class: "head" },
        element("h2", { id: "numbers-title" }, l10n.t("Numbers")),
        this.kind,
      ),
      this.fields,
      this.shown,
    );
  }

  draw(shape: readonly number[], grid: ValueGrid, wantsImage: boolean): void {
    const isOther = this.shape.join() !== shape.join();
    this.shape = shape;
    this.part = grid;
    // An image needs two dimensions.
    const isImage = wantsImage && shape.length > 1;
    this.isImage = isImage;
    this.kind.hidden = shape.length < 2;
    this.kind.textContent = isImage ? l10n.t("Show as Table") : l10n.t("Show as Image");
    if (isOther || this.fields.childElementCount === 0) {
      this.fields.replaceChildren(...this.chosen());
    }
    this.showPlace(grid);
    if (isImage) {
      this.shown.replaceChildren(imageView(grid));
      return;
    }
    this.drawTable(grid);
    this.shown.replaceChildren(this.table.root);
  }

  /** Draws a table of texts and numbers in the same place, such as the rows of a dataframe. */
  private drawTable({ cells, row, row_step, column, column_step }: ValueGrid): void {
    const columns = (cells[0] ?? []).map((_, at) => ({
      id: String(at),
      title: String(column + at * column_step),
      isNumber: true,
      sorts: false,
    }));
    const index = { id: "index", title: l10n.t("Row"), isNumber: true, sorts: false };
    const rows = cells.map((line, at) =>
      element(
        "tr",
        {},
        element(
          "th",
          { scope: "row", tabindex: "-1", class: "fixed" },
          String(row + at * row_step),
        ),
        ...line.map((cell) => numberCell(cell)),
      ),
    );
    this.table.draw({ columns: [index, ...columns], rows, total: this.size(-2) });
  }

  /** The length of a dimension from the end. */
  private size(at: number): number {
    const shape = this.shape.length > 1 ? this.shape : [this.shape[0] ?? 1, 1];
    return shape.at(at) ?? 1;
  }

  private start(): Partial<ValuePart> {
    const at = this.part?.at ?? [];
    if (!this.isImage) {
      return { at, row: 0, column: 0 };
    }
    const step = (size: number): number => Math.max(1, Math.ceil(size / IMAGE_SIDE));
    return {
      at,
      row: 0,
      column: 0,
      rows: IMAGE_SIDE,
      columns: IMAGE_SIDE,
      row_step: step(this.size(-2)),
      column_step: step(this.size(-1)),
    };
  }

  private request(part: Partial<ValuePart>): void {
    post({ kind: "part", part, isImage: this.isImage });
  }

  private chosen(): HTMLElement[] {
    const leading = this.shape.slice(0, -2).map((size, place) =>
      field(`at-${place}`, l10n.t("Dimension {0}: 0 to {1}", place, size - 1), (value) => {
        const at = [...(this.part?.at ?? [])];
        at[place] = value;
        this.request({ ...this.part, at });
      }),
    );
    const move = (title: string, rows: number, columns: number): HTMLElement =>
      button(title, () => {
        const { part } = this;
        if (part !== undefined) {
          const { row_step, column_step } = part;
          this.request({
            ...part,
            row: Math.max(0, part.row + rows * part.rows * row_step),
            column: Math.max(0, part.column + columns * part.columns * column_step),
          });
        }
      });
    const [height, width] = [this.size(-2), this.size(-1)];
    return [
      ...leading,
      ...(height > ROWS
        ? [
            field("row", l10n.t("Row"), (row) => {
              this.request({ ...this.part, row });
            }),
            move(l10n.t("Previous Rows"), -1, 0),
            move(l10n.t("Next Rows"), 1, 0),
          ]
        : []),
      ...(width > COLUMNS
        ? [
            field("column", l10n.t("Column"), (column) => {
              this.request({ ...this.part, column });
            }),
            move(l10n.t("Previous Columns"), 0, -1),
            move(l10n.t("Next Columns"), 0, 1),
          ]
        : []),
    ];
  }

  private showPlace({ at, row, column }: ValuePart): void {
    const values: Record<string, number> = { row, column };
    at.forEach((index, place) => {
      values[`at-${place}`] = index;
    });
    for (const [id, value] of Object.entries(values)) {
      const input = this.fields.querySelector<HTMLInputElement>(`#${id}`);
      if (input !== null && input !== document.activeElement) {
        input.value = String(value);
      }
    }
  }
}

export function numberCell(cell: ValueNumber): HTMLTableCellElement {
  const made = tableCell({ isNumber: true }, figure(cell));
  made.classList.toggle("odd", finite(cell) === undefined && /^(?:nan|-?inf)$/.test(String(cell)));
  return made;
}

function field(id: string, label: string, changed: (value: number) => void): HTMLElement {
  const input = element("input", { id, type: "text", inputmode: "numeric", size: "7" });
  input.addEventListener("change", () => {
    const value = Number.parseInt(input.value, 10);
    if (Number.isSafeInteger(value) && value >= 0) {
      changed(value);
    }
  });
  return element("div", { class: "field" }, element("label", { for: id }, label), input);
}
