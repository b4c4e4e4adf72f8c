/** The statistics of a dump: what is worth a sentence, how rewards and lengths are spread. */

import { filled } from "../../../common/filled";
import { button, element } from "../../reports/page/elements";
import { singleLine } from "../../reports/page/texts";
import type { DumpStatistics, HistogramBin } from "../messages";
import type { ListFilter } from "../page_messages";
import type { TrajectoryTexts } from "../trajectory_texts";
import { numberText, spreadText } from "./texts";
import { rounded } from "./token_colours";

export function statisticsView(
  texts: TrajectoryTexts,
  statistics: DumpStatistics,
  showFilter: (filter: ListFilter) => void,
): HTMLElement {
  const { findings, rewards, lengths, unit, groups, singles } = statistics;
  const lengthName = unit === "tokens" ? texts.lengths : texts.characters;
  return element(
    "div",
    {},
    ...(findings.length === 0
      ? []
      : [
          element(
            "ul",
            { class: "findings" },
            ...findings.map(({ sentence, filter }) =>
              element(
                "li",
                {},
                `${singleLine(sentence)} `,
                ...(filter === "" ? [] : [showButton(texts, sentence, filter, showFilter)]),
              ),
            ),
          ),
        ]),
    element(
      "dl",
      {},
      element("dt", {}, texts.rewards),
      element("dd", {}, spreadText(texts, rewards), histogram(texts, statistics.reward_bins)),
      element("dt", {}, lengthName),
      element("dd", {}, spreadText(texts, lengths), histogram(texts, statistics.length_bins)),
      element("dt", {}, texts.groups),
      element("dd", {}, filled(texts.groupsText, numberText(groups), numberText(singles))),
    ),
  );
}

function showButton(
  texts: TrajectoryTexts,
  sentence: string,
  filter: string,
  showFilter: (filter: ListFilter) => void,
): HTMLElement {
  const made = button(texts.show, () => {
    showFilter(filter as ListFilter);
  });
  made.setAttribute("aria-label", filled(texts.showThese, sentence));
  return made;
}

/** A bar for each bin, with its values and number as its title. */
function histogram(texts: TrajectoryTexts, bins: readonly HistogramBin[]): HTMLElement {
  const most = Math.max(...bins.map(({ count }) => count), 1);
  return element(
    "div",
    { class: "histogram", "aria-hidden": "true" },
    ...bins.map(({ low, high, count }) => {
      const range =
        low === high ? String(rounded(low)) : filled(texts.range, rounded(low), rounded(high));
      const bar = element("span", { class: "bar", title: filled(texts.bar, range, count) });
      bar.style.setProperty("--part", String(count / most));
      return bar;
    }),
  );
}
