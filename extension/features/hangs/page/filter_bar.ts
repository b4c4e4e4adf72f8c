/** The filters of a picture: ranks as text, role, node and thread from lists. */

import { element } from "../../reports/page/elements";
import { singleLine } from "../../reports/page/texts";
import type { Picture } from "../messages";
import type { PictureTexts } from "../picture_texts";
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
    private readonly texts: PictureTexts,
    picture: Picture,
    private filter: Filter,
    private readonly changed: (filter: Filter) => void,
  ) {
    const values = choices(picture);
    this.problem = element("p", { class: "problem", id: "ranks-problem" }, texts.badRanks);
    this.problem.hidden = true;
    this.root = element(
      "div",
      { class: "filters" },
      this.ranksField(),
      ...this.list("role", texts.filterRole, values.role, (role) => roleText(texts, role)),
      ...this.list("node", texts.filterNode, values.node, singleLine),
      ...this.list("thread", texts.filterThread, values.thread, singleLine),
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
    const label = element("label", { for: field.id }, this.texts.filterRanks);
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
      element("option", { value }, value === "" ? this.texts.all : text(value));
    const field = element("select", { id: `filter-${name}` }, option(chosen));
    // A thousand nodes, which nobody sees before the list opens, must not delay the rest of the page.
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
