/** The differences of the logprobs as a map: a row for each sequence, a cell for each token or some tokens. */

import { l10n } from "../../../page/frame/l10n";
import { button, element } from "../../../page/frame/elements";

import type { DeltaRow, ShownComparison } from "../../messages";
import { GridFocus } from "../../../page/frame/grid_focus";
import { cellSentence, figure, LEVELS, levelOf } from "./figures";

/** More rows are drawn on request only. */
const FIRST_ROWS = 40;

export class HeatMap {
  readonly root: HTMLElement;
  private readonly map = element("div", { class: "table" });
  private readonly detail: HTMLElement;
  private limit = FIRST_ROWS;

  constructor(private readonly comparison: ShownComparison) {
    const { rows, sequences } = comparison;
    this.detail = element(
      "p",
      { class: "detail", role: "status" },
      l10n.t("Select a cell for its numbers."),
    );
    this.root = element(
      "section",
      { "aria-labelledby": "map-title" },
      element(
        "h2",
        { id: "map-title" },
        l10n.t("Differences"),
        " ",
        element("span", { class: "badge" }, l10n.t("{0} of {1} sequences", rows.length, sequences)),
      ),
      element(
        "p",
        { class: "note" },
        l10n.t("Each row is a sequence; the largest differences come first."),
      ),
      this.legend(),
      this.detail,
      this.map,
    );
    this.draw();
  }

  private legend(): HTMLElement {
    const names = [`< ${figure(LEVELS[0])}`, ...LEVELS.map((least) => `≥ ${figure(least)}`)];
    return element(
      "ul",
      { class: "legend" },
      ...names.map((name, level) =>
        element("li", {}, leveled(element("span"), level, false), name),
      ),
      element("li", {}, leveled(element("span"), 0, true), l10n.t("B would choose another token")),
    );
  }

  private draw(): void {
    const { rows } = this.comparison;
    const table = element(
      "table",
      { role: "grid", class: "map", "aria-labelledby": "map-title" },
      element("tbody", {}, ...rows.slice(0, this.limit).map((row) => this.row(row))),
    );
    new GridFocus(table, {
      focused: (cell, { row, column }) => {
        this.describe(cell, rows[row], column - 1);
      },
    });
    table.addEventListener("pointerover", ({ target }) => {
      const cell = (target as HTMLElement).closest<HTMLTableCellElement>("td");
      const row = rows[cell?.closest("tr")?.rowIndex ?? -1];
      if (cell !== null && row !== undefined) {
        cell.title = cellSentence(row, cell.cellIndex - 1);
      }
    });
    const all = button(l10n.t("Show {0} Sequences", rows.length), () => {
      this.limit = rows.length;
      this.draw();
      this.map.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
    });
    all.classList.add("more");
    this.map.replaceChildren(table, ...(rows.length > this.limit ? [all] : []));
  }

  private row(row: DeltaRow): HTMLElement {
    const { sequence, cells, divergence, cell_tokens } = row;
    const diverged = divergence === null ? -1 : Math.floor(divergence / cell_tokens);
    return element(
      "tr",
      {},
      element("th", { scope: "row", tabindex: "-1" }, l10n.t("Sequence {0}", sequence)),
      ...cells.map((delta, at) =>
        leveled(element("td", { tabindex: "-1" }), levelOf(delta), at === diverged),
      ),
    );
  }

  /** A cell has its name only once it has the focus: most of thousands never do. */
  private describe(cell: HTMLElement, row: DeltaRow | undefined, column: number): void {
    if (row !== undefined && column >= 0) {
      const sentence = cellSentence(row, column);
      cell.setAttribute("aria-label", sentence);
      this.detail.textContent = sentence;
    }
  }
}

/** `cell` as the bar of a level. */
function leveled<E extends HTMLElement>(cell: E, level: number, isDiverged: boolean): E {
  cell.classList.add("cell", `l${level}`);
  cell.classList.toggle("diverged", isDiverged);
  return cell;
}
