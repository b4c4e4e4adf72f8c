/** The table of processes: culprits first, sorted by its headings, walked through with the arrow keys. */

import { l10n } from "../../../page/frame/l10n";
import { button, element } from "../../../page/frame/elements";

import { SortedTable, tableCell } from "../../../page/frame/table";
import { singleLine } from "../../../page/frame/texts";
import type { VerdictRow, RankRow } from "../messages";

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
  private readonly body = new SortedTable(l10n.t("Ranks"), {
    sort: ({ id }) => {
      this.sort(id as RankColumn);
    },
  });
  private readonly count = element("span", { class: "badge" });
  private entries: readonly RankEntry[] = [];
  private order: RankOrder = pageState().order;
  private limit = FIRST_ROWS;
  private readonly columns: readonly (typeof COLUMNS)[number][];

  constructor(
    private readonly verdict: VerdictRow,
    private readonly classIndex: ClassIndex,
    hidden: ReadonlySet<RankColumn>,
  ) {
    this.columns = COLUMNS.filter(({ id }) => !hidden.has(id));
    this.root = element(
      "section",
      { class: "ranks", "aria-labelledby": "ranks-title" },
      element("h2", { id: "ranks-title" }, l10n.t("Ranks"), " ", this.count),
      this.body.root,
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
    this.count.textContent = String(sorted.length);
    const more = button(l10n.t("Show {0} More of {1}", Math.min(left, MORE_ROWS), left), () => {
      this.limit += MORE_ROWS;
      this.draw();
    });
    more.classList.add("more");
    this.body.draw(
      {
        columns: this.columns,
        rows: shown.map((entry) => this.row(entry)),
        total: sorted.length,
        ...this.order,
      },
      ...(left > 0 ? [more] : []),
    );
  }

  private row(entry: RankEntry): HTMLTableRowElement {
    const cells = this.columns.map((column) => {
      const made = tableCell(column, ...this.cell(entry, column.id));
      // For a narrow tab; a GPU is named in its cell.
      if (column.id !== "gpus") {
        made.dataset["column"] = column.title;
      }
      return made;
    });
    return element("tr", entry.isCulprit ? { class: "culprit" } : {}, ...cells);
  }

  private cell({ row, isCulprit }: RankEntry, column: RankColumn): (Node | string)[] {
    switch (column) {
      case "rank":
        return [
          ...(isCulprit ? [element("span", { class: "mark" }, l10n.t("culprit"))] : []),
          rankText(row),
        ];
      case "class": {
        const index = this.classIndex(row);
        return index < 0 ? [] : [letter({ index })];
      }
      case "role":
        return [roleText(row.role)];
      case "doing":
        return [doingText(row.doing)];
      case "moves":
        return [row.moves ? l10n.t("yes") : l10n.t("no")];
      case "cpu":
        return [row.cpu.toFixed(2)];
      case "collectives":
        return [collectivesText(row)];
      case "gpus":
        return [gpusText(row)];
      case "state":
        return [stateText(row.state)];
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
}
