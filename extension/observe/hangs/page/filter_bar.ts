/** The filters of a picture: ranks as text, role, node and thread from lists. */

import { l10n } from "../../../page/frame/l10n";
import { element } from "../../../page/frame/elements";
import { singleLine } from "../../../page/frame/texts";
import type { Picture } from "../messages";

import { choices, inOrder, isValid, type Filter } from "./filters";
import { roleText } from "./texts";

/** A filter takes effect after a pause in typing of this length. */
const DEBOUNCE_MS = 150;
/** A hidden or busy page makes its lists after this time. */
const LONGEST_WAIT_MS = 500;

export class FilterBar {
  readonly root: HTMLElement;
  private readonly problem: HTMLElement;
  private typing: number | undefined;

  constructor(
    picture: Picture,
    private filter: Filter,
    private readonly changed: (filter: Filter) => void,
  ) {
    const values = choices(picture);
    this.problem = element(
      "p",
      { class: "problem", id: "ranks-problem" },
      l10n.t("Enter ranks such as 0-1,3."),
    );
    this.problem.hidden = true;
    this.root = element(
      "div",
      { class: "filters" },
      this.ranksField(),
      ...this.list("role", l10n.t("Role"), values.role, (role) => roleText(role)),
      ...this.list("node", l10n.t("Node"), values.node, singleLine),
      ...this.list("thread", l10n.t("Thread"), values.thread, singleLine),
    );
  }

  private ranksField(): HTMLElement {
    const field = element("input", {
      type: "text",
      id: "filter-ranks",
      spellcheck: "false",
      autocomplete: "off",
    });
    field.value = this.filter.ranks;
    field.addEventListener("input", () => {
      window.clearTimeout(this.typing);
      this.typing = window.setTimeout(() => {
        this.change({ ranks: field.value });
        const isWrong = !isValid(this.filter);
        this.problem.hidden = !isWrong;
        field.toggleAttribute("aria-invalid", isWrong);
        if (isWrong) {
          field.setAttribute("aria-describedby", this.problem.id);
        } else {
          field.removeAttribute("aria-describedby");
        }
      }, DEBOUNCE_MS);
    });
    const label = element("label", { for: field.id }, l10n.t("Ranks, such as 0-1,3"));
    return element("div", { class: "field" }, label, field, this.problem);
  }

  /** A list with one value would filter nothing. */
  private list(
    name: "role" | "node" | "thread",
    title: string,
    values: readonly string[],
    text: (value: string) => string,
  ): HTMLElement[] {
    if (values.length < 2) {
      return [];
    }
    const chosen = this.filter[name];
    const option = (value: string): HTMLElement =>
      element("option", { value }, value === "" ? l10n.t("All") : text(value));
    const field = element("select", { id: `filter-${name}` }, option(chosen));
    // A thousand nodes, which are hidden before the list opens, must not delay the rest of the page.
    window.requestIdleCallback(
      () => {
        field.replaceChildren(...["", ...inOrder(values)].map(option));
        field.value = chosen;
      },
      { timeout: LONGEST_WAIT_MS },
    );
    field.addEventListener("change", () => {
      this.change({ [name]: field.value });
    });
    return [element("div", { class: "field" }, element("label", { for: field.id }, title), field)];
  }

  private change(part: Partial<Filter>): void {
    this.filter = { ...this.filter, ...part };
    if (isValid(this.filter)) {
      this.changed(this.filter);
    }
  }
}
