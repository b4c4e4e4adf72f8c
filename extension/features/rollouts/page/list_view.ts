/** The list of trajectories: searched, filtered, sorted by its headings, walked through with the arrow keys. */

import { button, element } from "../../reports/page/elements";
import { movedTo, type CellPosition } from "../../reports/page/grid";
import { filled } from "../../../common/filled";
import type { TrajectoryPage, TrajectoryRow } from "../messages";
import { FIRST_ROWS, type ListFilter, type ListQuery } from "../page_messages";
import type { TrajectoryTexts } from "../trajectory_texts";
import { pageState, post, savePageState } from "./editor";
import { cellOf, columnsOf, parsedNumber, type ListColumn } from "./texts";

/** A search begins after a pause in typing of this length. */
const DEBOUNCE_MS = 200;
const MORE_ROWS = 200;
const NUMBERS: ReadonlySet<ListColumn> = new Set(["item", "reward", "tokens", "step"]);
/** The orders by the columns whose headings sort. */
const ORDERS: ReadonlyMap<ListColumn, ListQuery["sort"]> = new Map([
  ["item", ""],
  ["reward", "reward"],
  ["tokens", "length"],
]);

export class ListView {
  readonly root: HTMLElement;
  private query: ListQuery = pageState().query;
  private rows: readonly TrajectoryRow[] = [];
  private columns: readonly ListColumn[] = [];
  private total: number | null = null;
  private hasMore = false;
  private opened = pageState().item;
  private at: CellPosition = { row: 0, column: 0 };
  private typing: number | undefined;
  private readonly body = element("div", { class: "table" });
  private readonly count = element("span", { class: "badge" });
  private readonly filter: HTMLSelectElement;

  constructor(
    private readonly texts: TrajectoryTexts,
    private readonly open: (item: number) => void,
  ) {
    this.filter = this.filterField();
    this.root = element(
      "section",
      { class: "list", "aria-labelledby": "list-title" },
      element("h2", { id: "list-title" }, texts.list, " ", this.count),
      element(
        "div",
        { class: "filters" },
        this.searchField(),
        field("filter", texts.filter, this.filter),
        this.rewardField("least_reward", texts.leastReward),
        this.rewardField("most_reward", texts.mostReward),
      ),
      this.body,
    );
  }

  /** Asks for the rows of the query that was stored. */
  start(): void {
    post({ kind: "query", query: this.query });
  }

  /** Rows of an older query are ignored. */
  update(query: ListQuery, page: TrajectoryPage): void {
    if (JSON.stringify(query) !== JSON.stringify(this.query)) {
      return;
    }
    this.rows = page.rows;
    this.columns = columnsOf(page.rows);
    this.total = page.matches;
    this.hasMore = page.next !== null;
    this.draw();
  }

  setTotal(total: number): void {
    const { search, filter, least_reward, most_reward } = this.query;
    if (search === "" && filter === "" && least_reward === null && most_reward === null) {
      this.total = total;
      this.drawCount();
    }
  }

  showFilter(filter: ListFilter): void {
    this.filter.value = filter;
    this.ask({ filter });
    this.root.scrollIntoView();
  }

  private searchField(): HTMLElement {
    const input = textInput("search", this.query.search);
    input.addEventListener("input", () => {
      this.later(() => {
        this.ask({ search: input.value });
      });
    });
    return field("search", this.texts.search, input);
  }

  private filterField(): HTMLSelectElement {
    const names = Object.entries(this.texts.filters);
    const options = names.map(([value, text]) => element("option", { value }, text));
    const select = element("select", { id: "filter" }, ...options);
    select.value = this.query.filter;
    select.addEventListener("change", () => {
      this.ask({ filter: select.value as ListFilter });
    });
    return select;
  }

  private rewardField(name: "least_reward" | "most_reward", title: string): HTMLElement {
    const input = textInput(name, String(this.query[name] ?? ""));
    const problem = element("p", { class: "problem", id: `${name}-problem` }, this.texts.badNumber);
    problem.hidden = true;
    input.addEventListener("input", () => {
      this.later(() => {
        const value = parsedNumber(input.value);
        problem.hidden = value !== undefined;
        input.toggleAttribute("aria-invalid", value === undefined);
        if (value === undefined) {
          input.setAttribute("aria-describedby", problem.id);
        } else {
          input.removeAttribute("aria-describedby");
          this.ask({ [name]: value });
        }
      });
    });
    return field(name, title, input, problem);
  }

  private later(work: () => void): void {
    window.clearTimeout(this.typing);
    this.typing = window.setTimeout(work, DEBOUNCE_MS);
  }

  private ask(changes: Partial<ListQuery>): void {
    this.query = { ...this.query, limit: FIRST_ROWS, ...changes };
    savePageState({ query: this.query });
    post({ kind: "query", query: this.query });
  }

  private drawCount(): void {
    this.count.textContent = this.total === null ? `${this.rows.length}+` : String(this.total);
  }

  private draw(): void {
    const hadFocus = this.body.contains(document.activeElement);
    this.drawCount();
    const more = button(this.texts.showMore, () => {
      this.ask({ limit: this.query.limit + MORE_ROWS });
    });
    const nothing = element("p", { class: "nothing" }, this.texts.noMatch);
    this.body.replaceChildren(
      ...(this.rows.length === 0 ? [nothing] : [this.grid()]),
      ...(this.hasMore ? [more] : []),
    );
    this.focusCell(this.at, hadFocus);
  }

  private grid(): HTMLElement {
    const rowCount = this.total === null ? "-1" : String(this.total + 1);
    const made = element(
      "table",
      { role: "grid", "aria-label": this.texts.list, "aria-rowcount": rowCount },
      element("thead", {}, element("tr", {}, ...this.columns.map((each) => this.heading(each)))),
      element("tbody", {}, ...this.rows.map((row) => this.row(row))),
    );
    made.addEventListener("keydown", (event) => {
      this.press(event);
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

  private heading(column: ListColumn): HTMLElement {
    const order = ORDERS.get(column);
    const direction = this.query.descending ? "descending" : "ascending";
    const attributes = {
      scope: "col",
      tabindex: "-1",
      class: `${NUMBERS.has(column) ? "number" : "text"}${order === undefined ? " fixed" : ""}`,
      "aria-sort": order === undefined ? undefined : order === this.query.sort ? direction : "none",
    };
    const made = element("th", attributes, this.texts.columns[column]);
    made.addEventListener("click", () => {
      this.sort(column);
    });
    return made;
  }

  private row(row: TrajectoryRow): HTMLElement {
    const cells = this.columns.map((column) => {
      const text = cellOf(this.texts, row, column);
      const kind = NUMBERS.has(column) ? "number" : "text";
      return element("td", { tabindex: "-1", class: kind, title: text }, text);
    });
    const isOpen = row.item === this.opened;
    const made = element(
      "tr",
      {
        class: isOpen ? "opened" : undefined,
        "aria-selected": String(isOpen),
        "aria-label": filled(this.texts.openItem, row.item),
      },
      ...cells,
    );
    made.addEventListener("click", () => {
      this.openRow(row);
    });
    return made;
  }

  private openRow({ item }: TrajectoryRow): void {
    this.opened = item;
    for (const [at, row] of this.rows.entries()) {
      // The first row is that of the headings.
      const drawn = this.body.querySelector("table")?.rows[at + 1];
      drawn?.classList.toggle("opened", row.item === item);
      drawn?.setAttribute("aria-selected", String(row.item === item));
    }
    this.open(item);
  }

  private sort(column: ListColumn): void {
    const sort = ORDERS.get(column);
    if (sort !== undefined) {
      const descending = this.query.sort === sort ? !this.query.descending : sort !== "";
      this.ask({ sort, descending });
    }
  }

  private press(event: KeyboardEvent): void {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      const column = this.columns[this.at.column];
      const row = this.rows[this.at.row - 1];
      if (this.at.row === 0 && column !== undefined) {
        this.sort(column);
      } else if (row !== undefined) {
        this.openRow(row);
      }
      return;
    }
    const to = movedTo(event, this.at, this.rows.length + 1, this.columns.length);
    if (to !== undefined && !event.altKey && !event.metaKey) {
      event.preventDefault();
      this.focusCell(to, true);
    }
  }

  /** The Tab key leads to one cell of the table, the one that it was left at. */
  private focusCell(to: CellPosition, withFocus: boolean): void {
    this.cell(this.at)?.setAttribute("tabindex", "-1");
    this.at = {
      row: Math.min(to.row, this.rows.length),
      column: Math.min(to.column, Math.max(this.columns.length - 1, 0)),
    };
    const cell = this.cell(this.at);
    cell?.setAttribute("tabindex", "0");
    if (withFocus) {
      cell?.focus();
    }
  }

  private cell({ row, column }: CellPosition): HTMLElement | undefined {
    return this.body.querySelector("table")?.rows[row]?.cells[column];
  }
}

function textInput(id: string, value: string): HTMLInputElement {
  const input = element("input", { type: "text", id, spellcheck: "false", autocomplete: "off" });
  input.value = value;
  return input;
}

function field(id: string, title: string, ...controls: HTMLElement[]): HTMLElement {
  return element("div", { class: "field" }, element("label", { for: id }, title), ...controls);
}
