/** The first rows of a dataframe, with the type and the missing values of each column. */

import { button, element } from "../../../page/frame/elements";
import { l10n } from "../../../page/frame/l10n";
import { SortedTable, tableCell } from "../../../page/frame/table";
import { singleLine } from "../../../page/frame/texts";
import type { ValueTable } from "../value_messages";
import { post } from "./editor";
import { numberCell } from "./numbers_view";

const ROWS = 50;

export class DataframeView {
  private readonly columns = new SortedTable(l10n.t("Columns"));
  private readonly rows = new SortedTable(l10n.t("Rows"));
  private readonly buttons = element("div", { class: "buttons" });
  readonly root = element(
    "div",
    {},
    element("section", {}, element("h2", {}, l10n.t("Columns")), this.columns.root),
    element("section", {}, element("h2", {}, l10n.t("Rows")), this.buttons, this.rows.root),
  );

  draw(height: number, { columns, counted, index, cells, row }: ValueTable): void {
    const nulls = l10n.t("Missing values");
    const sample = l10n.t("Missing values in the first {0}", counted.toLocaleString("en"));
    this.columns.draw({
      columns: [
        column(l10n.t("Name")),
        column(l10n.t("Type")),
        { ...column(counted < height ? sample : nulls), isNumber: true },
      ],
      rows: columns.map(({ name, dtype, nulls: missing }) =>
        element(
          "tr",
          {},
          tableCell({ isNumber: false }, name),
          tableCell({ isNumber: false }, dtype),
          tableCell({ isNumber: true }, missing.toLocaleString("en")),
        ),
      ),
      total: columns.length,
    });
    this.rows.draw({
      columns: [column(l10n.t("Row")), ...columns.map(({ name }) => column(name))],
      rows: cells.map((line, at) =>
        element(
          "tr",
          {},
          element("th", { scope: "row", tabindex: "-1", class: "fixed" }, index[at] ?? ""),
          ...line.map((cell) =>
            typeof cell === "number" || cell === "nan"
              ? numberCell(cell)
              : tableCell({ isNumber: false }, singleLine(cell)),
          ),
        ),
      ),
      total: height,
    });
    const move = (title: string, by: number): HTMLButtonElement => {
      const made = button(title, () => {
        post({
          kind: "part",
          part: { row: Math.max(0, row + by * ROWS), rows: ROWS },
          isImage: false,
        });
      });
      made.disabled = by < 0 ? row === 0 : row + ROWS >= height;
      return made;
    };
    this.buttons.replaceChildren(
      ...(height > ROWS ? [move(l10n.t("Previous Rows"), -1), move(l10n.t("Next Rows"), 1)] : []),
    );
  }
}

function column(title: string): {
  readonly id: string;
  readonly title: string;
  readonly isNumber: boolean;
  readonly sorts: boolean;
} {
  return { id: title, title, isNumber: false, sorts: false };
}
