/** Takes the editor's place in an exported page: draws the stored messages, folds its sections, and searches. */

import { element } from "./elements";
import "./exported.css";
import { l10n } from "./l10n";

interface ExportedData {
  /** When, by which version, and without which parts it was made. */
  readonly note: string;
  /** The messages of the editor that draw the page. */
  readonly messages: readonly unknown[];
}

/** A list of ten thousand rows is complete after these. */
const MOST_ROUNDS = 20;

const { note, messages } = JSON.parse(
  document.getElementById("exported")?.textContent ?? "",
) as ExportedData;
const page = document.getElementById("page") ?? document.body;
let pageState: unknown;

Object.assign(globalThis, {
  acquireVsCodeApi: () => ({
    getState: () => pageState,
    setState: (next: unknown) => {
      pageState = next;
    },
    postMessage: ({ kind, text }: { readonly kind: string; readonly text?: string }) => {
      if (kind === "ready") {
        // The page's script has to end first, as in the editor.
        queueMicrotask(draw);
      } else if (kind === "copy" && text !== undefined) {
        void navigator.clipboard.writeText(text);
      }
    },
  }),
});

function draw(): void {
  for (const data of messages) {
    window.dispatchEvent(new MessageEvent("message", { data }));
  }
  for (const place of page.querySelectorAll<HTMLButtonElement>("button:is(.place,.source)")) {
    place.disabled = true;
  }
  for (const section of page.querySelectorAll<HTMLElement>("section")) {
    makeFoldable(section);
  }
  page.before(bar());
}

/** Its heading opens and closes it. */
function makeFoldable(section: HTMLElement): void {
  const heading = section.querySelector(":scope > h2, :scope > .head > h2");
  if (heading !== null) {
    const summary = element("summary", {}, heading);
    section.append(element("details", { class: "fold", open: "" }, summary, ...section.childNodes));
  }
}

function bar(): HTMLElement {
  const count = element("output");
  const field = element("input", {
    type: "search",
    placeholder: l10n.t("Search"),
    "aria-label": l10n.t("Search"),
  });
  const search = new PageSearch();
  field.addEventListener("input", () => {
    count.textContent = search.find(field.value);
  });
  field.addEventListener("keydown", ({ key, shiftKey }) => {
    if (key === "Enter") {
      count.textContent = search.next(shiftKey ? -1 : 1);
    }
  });
  return element(
    "div",
    { class: "exported-bar", role: "search" },
    field,
    count,
    element("span", { class: "note" }, note),
  );
}

/** Marks all matches in the page, also in parts that are folded, and shows one after the other. */
class PageSearch {
  private matches: readonly Range[] = [];
  private at = 0;

  /** Returns the number of matches as a text. */
  find(text: string): string {
    showAll();
    this.matches = text === "" ? [] : matchesOf(text);
    this.at = 0;
    CSS.highlights.set("matches", new Highlight(...this.matches));
    CSS.highlights.delete("match");
    return text === "" ? "" : this.next(0);
  }

  next(step: number): string {
    const { length } = this.matches;
    this.at = length === 0 ? 0 : (this.at + step + length) % length;
    const match = this.matches[this.at];
    if (match === undefined) {
      return l10n.t("No matches");
    }
    CSS.highlights.set("match", new Highlight(match));
    const parent = match.startContainer.parentElement;
    for (
      let fold = parent?.closest("details");
      fold;
      fold = fold.parentElement?.closest("details")
    ) {
      fold.open = true;
    }
    parent?.scrollIntoView({ block: "center" });
    return l10n.t("{0} of {1}", this.at + 1, length);
  }
}

/** Draws the rows that lists leave out at first. */
function showAll(): void {
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    page.querySelectorAll<HTMLButtonElement>("button.more").forEach((more) => {
      more.click();
    });
  }
}

/** The places of `text` in the page in any case; a match may extend over several elements. */
function matchesOf(text: string): Range[] {
  const nodes: { readonly node: Node; readonly end: number }[] = [];
  const walker = document.createTreeWalker(page, NodeFilter.SHOW_TEXT);
  let all = "";
  while (walker.nextNode() !== null) {
    all += walker.currentNode.nodeValue ?? "";
    nodes.push({ node: walker.currentNode, end: all.length });
  }
  const pattern = new RegExp(text.replaceAll(/[.*+?^${}()|[\]\\]/gu, "\\$&"), "giu");
  let at = 0;
  // The offset of a position that is at or after the last one.
  const place = (position: number): [Node, number] => {
    while ((nodes[at]?.end ?? Infinity) < position) {
      at += 1;
    }
    return [nodes[at]?.node ?? page, position - (nodes[at - 1]?.end ?? 0)];
  };
  return [...all.matchAll(pattern)].map(({ 0: matched, index }) => {
    const range = document.createRange();
    // A match begins in the node that has its first character.
    range.setStart(...begin(place(index + 1)));
    range.setEnd(...place(index + matched.length));
    return range;
  });
}

function begin([node, offset]: [Node, number]): [Node, number] {
  return [node, offset - 1];
}
