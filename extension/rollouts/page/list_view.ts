/** The list of trajectories: searched, filtered, sorted by its headings, walked through with the arrow keys. */

import { l10n } from "../../page/frame/l10n";
import { COLUMNS, FILTERS } from "./names";
import { button, element } from "../../page/frame/elements";
import { SortedTable, tableCell } from "../../page/frame/table";

import type { TrajectoryPage, TrajectoryRow } from "../messages";
import { FIRST_ROWS, type ListFilter, type ListQuery } from "../page_messages";

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
  private typing: number | undefined;
  private readonly body = new SortedTable(l10n.t("Trajectories"), {
    sort: ({ id }) => {
      this.sort(id as ListColumn);
    },
    open: (at) => {
      const row = this.rows[at];
      if (row !== undefined) {
        this.openRow(row);
      }
    },
  });
  private readonly count = element("span", { class: "badge" });
  private readonly filter: HTMLSelectElement;

  constructor(private readonly open: (item: number) => void) {
    this.filter = this.filterField();
    this.root = element(
      "section",
      { class: "list", "aria-labelledby": "list-title" },
      element("h2", { id: "list-title" }, l10n.t("Trajectories"), " ", this.count),
      element(
        "div",
        { class: "filters" },
        this.searchField(),
        field("filter", l10n.t("Show"), this.filter),
        this.rewardField("least_reward", l10n.t("Reward from")),
        this.rewardField("most_reward", l10n.t("Reward to")),
      ),
      this.body.root,
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
    return field("search", l10n.t("Search"), input);
  }

  private filterField(): HTMLSelectElement {
    const names = Object.entries(FILTERS);
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
    const problem = element(
      "p",
      { class: "problem", id: `${name}-problem` },
      l10n.t("Enter a number."),
    );
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
    this.drawCount();
    const more = button(l10n.t("Show More"), () => {
      this.ask({ limit: this.query.limit + MORE_ROWS });
    });
    const nothing = element("p", { class: "nothing" }, l10n.t("No trajectory matches."));
    const order = [...ORDERS].find(([, sort]) => sort === this.query.sort);
    this.body.draw(
      {
        columns: this.columns.map((id) => ({
          ...{ id, title: COLUMNS[id], isNumber: NUMBERS.has(id), sorts: ORDERS.has(id) },
        })),
        rows: this.rows.map((row) => this.row(row)),
        total: this.total ?? undefined,
        sort: order?.[0] ?? "",
        descending: this.query.descending,
      },
      ...(this.rows.length === 0 ? [nothing] : []),
      ...(this.hasMore ? [more] : []),
    );
  }

  private row(row: TrajectoryRow): HTMLTableRowElement {
    const cells = this.columns.map((column) => {
      const text = cellOf(row, column);
      const made = tableCell({ isNumber: NUMBERS.has(column) }, text);
      made.title = text;
      return made;
    });
    const isOpen = row.item === this.opened;
    const made = element(
      "tr",
      {
        class: isOpen ? "opened" : undefined,
        "aria-selected": String(isOpen),
        "aria-label": l10n.t("Open trajectory {0}", row.item),
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
      const drawn = this.body.row(at);
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
}

function textInput(id: string, value: string): HTMLInputElement {
  const input = element("input", { type: "text", id, spellcheck: "false", autocomplete: "off" });
  input.value = value;
  return input;
}

function field(id: string, title: string, ...controls: HTMLElement[]): HTMLElement {
  return element("div", { class: "field" }, element("label", { for: id }, title), ...controls);
}
