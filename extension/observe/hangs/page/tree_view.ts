/** The merged stacks as a tree: arrow keys move and fold, Enter and a click open the line of a frame. */

import { l10n } from "../../../page/frame/l10n";
import { button, element } from "../../../page/frame/elements";
import { singleLine } from "../../../page/frame/texts";

import { pageState, post, savePageState } from "./editor";
import {
  membersOf,
  stackTree,
  treeRows,
  type ClassTreeRow,
  type FrameTreeRow,
  type ShownClass,
  type StackNode,
  type TreeRow,
} from "./stack_tree";
import { classLetter, doingText, functionText, membersText, placeText, shortRanks } from "./texts";

/** More rows are drawn on request only. */
const FIRST_ROWS = 200;
const MORE_ROWS = 500;
/** The tree of which the page keeps what is folded. */
const STACKS = "stacks";
/** As many colours as the style has. */
const COLORS = 5;

export class TreeView {
  readonly root: HTMLElement;
  private readonly body = element("div");
  private tree: readonly StackNode[] = [];
  private rows: readonly TreeRow[] = [];
  private limit = FIRST_ROWS;
  private readonly closed: Set<string>;
  private showsAll: boolean;
  private at = "";

  constructor(
    private readonly hasGroups: boolean,
    private readonly canInspect: boolean,
    title = l10n.t("Stacks"),
    private readonly id = STACKS,
  ) {
    const { closed, showsAll } = pageState();
    this.closed = new Set(id === STACKS ? closed : []);
    this.showsAll = showsAll;
    this.root = element(
      "section",
      { "aria-labelledby": `${id}-title` },
      element(
        "div",
        { class: "head" },
        element("h2", { id: `${id}-title` }, title),
        this.allFrames(),
      ),
      this.body,
    );
    this.body.addEventListener("keydown", (event) => {
      this.press(event);
    });
    this.body.addEventListener("click", (event) => {
      this.click(event);
    });
    this.body.addEventListener("focusin", ({ target }) => {
      // A button of a row has the Tab key itself.
      const id = (target as HTMLElement).dataset["id"];
      if (id !== undefined) {
        this.moveTo(id, false);
      }
    });
  }

  show(classes: readonly ShownClass[]): void {
    this.tree = stackTree(classes);
    this.limit = FIRST_ROWS;
    this.draw();
  }

  private allFrames(): HTMLElement {
    const field = element("input", { type: "checkbox", id: `all-frames-${this.id}` });
    field.checked = this.showsAll;
    field.addEventListener("change", () => {
      this.showsAll = field.checked;
      if (this.id === STACKS) {
        savePageState({ showsAll: this.showsAll });
      }
      this.draw();
    });
    return element("label", { class: "check" }, field, l10n.t("Show all frames"));
  }

  private draw(): void {
    const hadFocus = this.body.contains(document.activeElement);
    this.rows = treeRows(this.tree, { showsAll: this.showsAll, closed: this.closed });
    if (!this.rows.some(({ id }) => id === this.at)) {
      this.at = this.rows[0]?.id ?? "";
    }
    const shown = this.rows.slice(0, this.limit);
    const left = this.rows.length - shown.length;
    const more = button(l10n.t("Show {0} More of {1}", Math.min(left, MORE_ROWS), left), () => {
      this.limit += MORE_ROWS;
      this.draw();
    });
    more.classList.add("more");
    const empty = element("p", { class: "nothing" }, l10n.t("No process matches these filters."));
    const tree = element("div", {
      role: "tree",
      "aria-labelledby": `${this.id}-title`,
      class: "tree",
    });
    tree.append(...shown.map((row) => this.row(row)));
    this.body.replaceChildren(
      ...(shown.length === 0 ? [empty] : [tree]),
      ...(left > 0 ? [more] : []),
    );
    if (hadFocus) {
      this.element(this.at)?.focus();
    }
  }

  private row(row: TreeRow): HTMLElement {
    const made = element("div", {
      role: "treeitem",
      "aria-level": String(row.level),
      "aria-expanded":
        row.row === "class" || row.isOpen === undefined ? undefined : String(row.isOpen),
      tabindex: row.id === this.at ? "0" : "-1",
      "data-id": row.id,
      class: row.row,
    });
    made.style.setProperty("--level", String(row.level));
    const only = row.row === "class" ? row.shown : row.only;
    if (only !== undefined && isLeading(only)) {
      made.classList.add("colored", colorOf(only));
    }
    made.append(...(row.row === "class" ? this.classParts(row) : this.frameParts(row)));
    return made;
  }

  private frameParts({ frame, classes, only, isOpen }: FrameTreeRow): HTMLElement[] {
    const twistie = element(
      "span",
      { class: "twistie", "aria-hidden": "true" },
      isOpen === undefined ? "" : isOpen ? "▾" : "▸",
    );
    const ranks =
      classes === undefined
        ? []
        : [
            ...(only === undefined ? [] : letters(only)),
            element("span", { class: "members" }, membersText(membersOf(classes), this.hasGroups)),
          ];
    return [
      twistie,
      ...ranks,
      element("span", { class: frame.users ? "users" : "function" }, functionText(frame)),
      element("span", { class: "place", title: frame.path }, placeText(frame)),
    ];
  }

  private classParts({ shown }: ClassTreeRow): HTMLElement[] {
    const { entry, ranks } = shown;
    const [first] = ranks[0] ?? [];
    const doing = isLeading(shown) ? doingText(entry.doing) : singleLine(entry.thread);
    const inside = this.canInspect && first !== undefined ? [this.inspect(entry.group, first)] : [];
    return [
      element("span", { class: "twistie", "aria-hidden": "true" }),
      ...letters(shown),
      element("span", { class: "members" }, shortRanks(ranks)),
      element("span", { class: "doing" }, doing),
      ...inside,
    ];
  }

  /** For the representative of a class: its smallest rank. */
  private inspect(group: string, rank: number): HTMLElement {
    const name = l10n.t("Look Inside rank {0}", rank);
    const made = button(l10n.t("Look Inside"), () => {
      post({ kind: "inspect", group, rank });
    });
    made.classList.add("inspect");
    made.setAttribute("aria-label", name);
    made.title = name;
    return made;
  }

  private click({ target }: MouseEvent): void {
    const made = (target as HTMLElement).closest<HTMLElement>("[data-id]");
    const row = this.rows.find(({ id }) => id === made?.dataset["id"]);
    if (row === undefined || (target as HTMLElement).closest("button") !== null) {
      return;
    }
    this.moveTo(row.id, true);
    if ((target as HTMLElement).classList.contains("twistie")) {
      this.fold(row, !this.closed.has(row.id));
    } else {
      openLine(row);
    }
  }

  private press(event: KeyboardEvent): void {
    if ((event.target as HTMLElement).dataset["id"] === undefined) {
      return;
    }
    const index = this.rows.findIndex(({ id }) => id === this.at);
    const row = this.rows[index];
    if (row === undefined || event.altKey || event.metaKey || event.ctrlKey) {
      return;
    }
    const last = Math.min(this.rows.length, this.limit) - 1;
    const isClosed = this.closed.has(row.id);
    const canFold = row.row === "frame" && row.isOpen !== undefined;
    const moves: Readonly<Record<string, () => void>> = {
      ArrowDown: () => {
        this.moveBy(Math.min(index + 1, last));
      },
      ArrowUp: () => {
        this.moveBy(Math.max(index - 1, 0));
      },
      Home: () => {
        this.moveBy(0);
      },
      End: () => {
        this.moveBy(last);
      },
      ArrowRight: () => {
        if (canFold && isClosed) {
          this.fold(row, false);
        } else {
          this.moveBy(Math.min(index + 1, last));
        }
      },
      ArrowLeft: () => {
        if (canFold && !isClosed) {
          this.fold(row, true);
        } else {
          this.moveBy(this.parentOf(index));
        }
      },
      Enter: () => {
        openLine(row);
      },
    };
    const move = moves[event.key];
    if (move !== undefined) {
      event.preventDefault();
      move();
    }
  }

  private parentOf(index: number): number {
    const level = this.rows[index]?.level ?? 1;
    const above = this.rows.slice(0, index).findLastIndex((row) => row.level < level);
    return Math.max(above, 0);
  }

  private fold(row: TreeRow, isClosed: boolean): void {
    if (row.row !== "frame" || row.isOpen === undefined) {
      return;
    }
    if (isClosed) {
      this.closed.add(row.id);
    } else {
      this.closed.delete(row.id);
    }
    if (this.id === STACKS) {
      savePageState({ closed: [...this.closed] });
    }
    this.draw();
  }

  private moveBy(index: number): void {
    const row = this.rows[index];
    if (row !== undefined) {
      this.moveTo(row.id, true);
    }
  }

  /** The Tab key leads to one row of the tree, the one that it was left at. */
  private moveTo(id: string, withFocus: boolean): void {
    this.element(this.at)?.setAttribute("tabindex", "-1");
    this.at = id;
    const made = this.element(id);
    made?.setAttribute("tabindex", "0");
    if (withFocus) {
      made?.focus();
    }
  }

  private element(id: string): HTMLElement | null {
    return this.body.querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"]`);
  }
}

/** A class has its letter beside its colour, which alone not everyone can tell. */
export function letter({ index }: Pick<ShownClass, "index">): HTMLElement {
  return element("span", { class: `letter ${colorOf({ index })}` }, classLetter(index));
}

/** None for a thread besides the leading one, whose processes are in other classes. */
function letters(shown: ShownClass): HTMLElement[] {
  return isLeading(shown) ? [letter(shown)] : [];
}

function isLeading({ entry }: ShownClass): boolean {
  return entry.doing !== "";
}

function colorOf({ index }: Pick<ShownClass, "index">): string {
  return `color-${index % COLORS}`;
}

function openLine(row: TreeRow): void {
  if (row.row === "frame") {
    post({ kind: "open", path: row.frame.path, line: row.frame.line });
  }
}
