/** The page of a value: what it is and where, its statistics, then its numbers, rows or items. */

import { button, element, type Child } from "../../../page/frame/elements";
import { l10n } from "../../../page/frame/l10n";
import type { ShownValue, ValueRecord, ValueStatistics } from "../value_messages";
import { ChildrenView } from "./children_view";
import { DataframeView } from "./dataframe_view";
import { post } from "./editor";
import { figure, kindLine, sampleSentence } from "./figures";
import { histogram } from "./histogram";
import { NumbersView } from "./numbers_view";

export class ValueView {
  readonly root = element("div");
  private readonly top = element("div");
  private readonly summary = element("div");
  private readonly numbers = new NumbersView();
  private readonly children = new ChildrenView();
  private readonly dataframe = new DataframeView();
  private readonly parts = element("div");

  constructor() {
    this.root.append(this.top, this.summary, this.parts);
  }

  draw(shown: ShownValue): void {
    const { record } = shown;
    this.root.classList.toggle("old", shown.old !== "");
    this.top.replaceChildren(...heading(shown));
    this.summary.replaceChildren(...(record.statistics ? statisticsOf(record.statistics) : []));
    const { shape = [], grid, table, children } = record;
    const parts: HTMLElement[] = [];
    if (grid !== undefined && grid.cells.length > 0) {
      parts.push(this.numbers.root);
    }
    if (table !== undefined) {
      parts.push(this.dataframe.root);
    }
    if (children !== undefined && children.length > 0) {
      parts.push(this.children.root);
    }
    if (parts.length !== this.parts.childElementCount || parts.some((part) => !part.isConnected)) {
      this.parts.replaceChildren(...parts);
    }
    if (grid !== undefined) {
      this.numbers.draw(shape, grid, shown.isImage);
    }
    if (table !== undefined) {
      this.dataframe.draw(shape[0] ?? 0, table);
    }
    if (children !== undefined) {
      this.children.draw(shown.expression, record);
    }
  }

  /** The children of a part of the tree, which it has requested. */
  fill(expression: string, record: ValueRecord): void {
    this.children.fill(expression, record);
  }
}

function heading({ expression, worker, place, record, old }: ShownValue): Child[] {
  const { text = "", why = "", error = "", refused, shape } = record;
  const parts: Child[] = [
    element("h1", {}, element("code", {}, expression)),
    element("p", { class: "from" }, l10n.t("{0} at {1}", worker, place)),
  ];
  if (old !== "") {
    parts.push(element("p", { class: "warnings", role: "status" }, old));
  }
  if (error !== "") {
    parts.push(element("p", { class: "warnings" }, error));
    if (refused === true) {
      const force = button(l10n.t("Evaluate Anyway"), () => {
        post({ kind: "force" });
      });
      parts.push(
        element("p", {}, l10n.t("To show it, code of the program must run.")),
        element("div", { class: "buttons" }, force),
      );
    }
    return parts;
  }
  parts.push(element("p", { class: "kind" }, kindLine(record)));
  if (shape === undefined) {
    parts.push(element("p", { class: "text" }, element("code", {}, text)));
  }
  if (why !== "") {
    parts.push(element("p", { class: "warnings" }, `${why}.`));
  }
  return parts;
}

function statisticsOf(statistics: ValueStatistics): HTMLElement[] {
  const { count, nan, inf, zeros, min, max, mean, std, bins } = statistics;
  const sample = sampleSentence(statistics);
  const entry = (name: string, value: string, isOdd = false): HTMLElement[] => [
    element("dt", {}, name),
    element("dd", isOdd ? { class: "odd" } : {}, value),
  ];
  const whole = (value: number): string => value.toLocaleString("en");
  const list = element(
    "dl",
    {},
    ...entry(l10n.t("Min"), figure(min)),
    ...entry(l10n.t("Max"), figure(max)),
    ...entry(l10n.t("Mean"), figure(mean)),
    ...entry(l10n.t("Standard deviation"), figure(std)),
    ...entry(l10n.t("NaN"), whole(nan), nan > 0),
    ...entry(l10n.t("Infinite"), whole(inf), inf > 0),
    ...entry(l10n.t("Zeros"), l10n.t("{0} of {1}", whole(zeros), whole(count))),
  );
  const made = element(
    "section",
    { "aria-labelledby": "statistics-title" },
    element("h2", { id: "statistics-title" }, l10n.t("Statistics")),
  );
  if (sample !== "") {
    made.append(element("p", { class: "note" }, sample));
  }
  made.append(
    element(
      "div",
      { class: "statistics" },
      list,
      ...(bins.length > 0 ? [histogram(statistics)] : []),
    ),
  );
  return [made];
}
