/** The table of processes: culprits first, sorted by its headings, walked through with the arrow keys. */

import { filled } from "../../../common/filled";
import { button, element } from "../../reports/page/elements";

import { movedTo, type CellPosition } from "../../reports/page/grid";
import { singleLine } from "../../reports/page/texts";
import type { VerdictRow, RankRow } from "../messages";
import type { PictureTexts } from "../picture_texts";
import { pageState, savePageState } from "./editor";
import {
  collectivesText,
  COLUMNS,
  rankEntries,
  sortedEntries,
  type ClassIndex,
  type RankColumn,
  type RankEntry,
  type RankOrder,
} from "./rank_table";
import { letter } from "./tree_view";
import { doingText, gpusText, rankText, roleText, stateText } from "./texts";

/** More rows are drawn on request only. */
const FIRST_ROWS = 100;
const MORE_ROWS = 500;

export class RanksView {
  readonly root: HTMLElement;
  private readonly body = element("div", { class: "table" });
  private readonly count = element("span", { class: "badge" });
  private entries: readonly RankEntry[] = [];
  private order: RankOrder = pageState().order;
  private limit = FIRST_ROWS;
  private at: CellPosition = { row: 0, column: 0 };
  private readonly columns: typeof COLUMNS;

  constructor(
    private readonly texts: PictureTexts,
    private readonly verdict: VerdictRow,
    private readonly classIndex: ClassIndex,
    hidden: ReadonlySet<RankColumn>,
  ) {
    this.columns = COLUMNS.filter(({ id }) => !hidden.has(id));
    this.root = element(
      "section",
      { class: "ranks", "aria-labelledby": "ranks-title" },
      element("h2", { id: "ranks-title" }, texts.ranks, " ", this.count),
      this.body,
    );
  }

  show(rows: readonly RankRow[]): void {
    this.entries = rankEntries(rows, this.verdict);
    this.limit = FIRST_ROWS;
    this.draw();
  }

  private draw(): void {
    const sorted = sortedEntries(this.entries, this.order, this.classIndex);
    const shown = sorted.slice(0, this.limit);
    const left = sorted.length - shown.length;
    const hadFocus = this.body.contains(document.activeElement);
    this.count.textContent = String(sorted.length);
    const more = button(filled(this.texts.showMore, Math.min(left, MORE_ROWS), left), () => {
      this.limit += MORE_ROWS;
      this.draw();
    });
    this.body.replaceChildren(this.grid(shown, sorted.length), ...(left > 0 ? [more] : []));
    this.focusCell(this.at, hadFocus);
  }

  private grid(shown: readonly RankEntry[], total: number): HTMLElement {
    const made = element(
      "table",
      { role: "grid", "aria-label": this.texts.ranks, "aria-rowcount": String(total + 1) },
      element("thead", {}, element("tr", {}, ...this.columns.map((each) => this.heading(each)))),
      element("tbody", {}, ...shown.map((entry) => this.row(entry))),
    );
    made.addEventListener("keydown", (event) => {
      this.press(event, shown.length);
    });
    made.addEventListener("focusin", ({ target }) => {
      const cell = (target as HTMLElement).closest<HTMLTableCellElement>("th,td");
      if (cell !== null) {
        const row = cell.closest("tr")?.rowIndex ?? 0;
        this.focusCell({ row, column: cell.cellIndex }, false);
      }
    });
    return made;
  }

  private heading({ id, isNumber }: (typeof COLUMNS)[number]): HTMLElement {
    const { sort, descending } = this.order;
    const order = descending ? "descending" : "ascending";
    const made = element(
      "th",
      {
        scope: "col",
        tabindex: "-1",
        "aria-sort": sort === id ? order : "none",
        class: isNumber ? "number" : "text",
      },
      this.texts.columns[id],
    );
    made.addEventListener("click", () => {
      this.sort(id);
    });
    return made;
  }

  private row(entry: RankEntry): HTMLElement {
    const cells = this.columns.map(({ id, isNumber }) =>
      element(
        "td",
        {
          tabindex: "-1",
          class: isNumber ? "number" : "text",
          // For a narrow tab; a GPU is named in its cell.
          "data-column": id === "gpus" ? undefined : this.texts.columns[id],
        },
        ...this.cell(entry, id),
      ),
    );
    return element("tr", entry.isCulprit ? { class: "culprit" } : {}, ...cells);
  }

  private cell({ row, isCulprit }: RankEntry, column: RankColumn): (Node | string)[] {
    switch (column) {
      case "rank":
        return [
          ...(isCulprit ? [element("span", { class: "mark" }, this.texts.culprit)] : []),
          rankText(row),
        ];
      case "class": {
        const index = this.classIndex(row);
        return index < 0 ? [] : [letter({ index })];
      }
      case "role":
        return [roleText(this.texts, row.role)];
      case "doing":
        return [doingText(this.texts, row.doing)];
      case "moves":
        return [row.moves ? this.texts.yes : this.texts.no];
      case "cpu":
        return [row.cpu.toFixed(2)];
      case "collectives":
        return [collectivesText(row)];
      case "gpus":
        return [gpusText(this.texts, row)];
      case "state":
        return [stateText(this.texts, row.state)];
      default:
        return [singleLine(String(row[column]))];
    }
  }

  /** A heading sorts ascending, then descending, then culprits come first again. */
  private sort(column: RankColumn): void {
    const { sort, descending } = this.order;
    this.order =
      sort !== column
        ? { sort: column, descending: false }
        : descending
          ? { sort: "", descending: false }
          : { sort: column, descending: true };
    savePageState({ order: this.order });
    this.draw();
  }

  private press(event: KeyboardEvent, rows: number): void {
    const column = this.columns[this.at.column];
    if ((event.key === "Enter" || event.key === " ") && this.at.row === 0 && column) {
      event.preventDefault();
      this.sort(column.id);
      return;
    }
    const to = movedTo(event, this.at, rows + 1, this.columns.length);
    if (to !== undefined && !event.altKey && !event.metaKey) {
      event.preventDefault();
      this.focusCell(to, true);
    }
  }

  /** The Tab key leads to one cell of the table, the one that it was left at. */
  private focusCell(to: CellPosition, withFocus: boolean): void {
    const table = this.body.querySelector("table");
    const cellAt = ({ row, column }: CellPosition): HTMLElement | undefined =>
      table?.rows[row]?.cells[column];
    cellAt(this.at)?.setAttribute("tabindex", "-1");
    this.at = { row: Math.min(to.row, (table?.rows.length ?? 1) - 1), column: to.column };
    const cell = cellAt(this.at);
    cell?.setAttribute("tabindex", "0");
    if (withFocus) {
      cell?.focus();
    }
  }
}
