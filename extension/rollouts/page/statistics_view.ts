/** The statistics of a dump: what is worth a sentence, how rewards and lengths are spread. */

import { l10n } from "../../page/frame/l10n";
import { button, element } from "../../page/frame/elements";
import { singleLine } from "../../page/frame/texts";
import type { DumpStatistics, HistogramBin } from "../messages";
import type { ListFilter } from "../page_messages";

import { numberText, spreadText } from "./texts";
import { rounded } from "./token_colours";

export function statisticsView(
  statistics: DumpStatistics,
  showFilter: (filter: ListFilter) => void,
): HTMLElement {
  const { findings, rewards, lengths, unit, groups, singles } = statistics;
  const lengthName =
    unit === "tokens" ? l10n.t("Completions in tokens") : l10n.t("Completions in characters");
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
                ...(filter === "" ? [] : [showButton(sentence, filter, showFilter)]),
              ),
            ),
          ),
        ]),
    element(
      "dl",
      {},
      element("dt", {}, l10n.t("Rewards")),
      element("dd", {}, spreadText(rewards), histogram(statistics.reward_bins)),
      element("dt", {}, lengthName),
      element("dd", {}, spreadText(lengths), histogram(statistics.length_bins)),
      element("dt", {}, l10n.t("Groups")),
      element(
        "dd",
        {},
        l10n.t("{0} (trajectories without a group: {1})", numberText(groups), numberText(singles)),
      ),
    ),
  );
}

function showButton(
  sentence: string,
  filter: string,
  showFilter: (filter: ListFilter) => void,
): HTMLElement {
  const made = button(l10n.t("Show"), () => {
    showFilter(filter as ListFilter);
  });
  made.setAttribute("aria-label", l10n.t("Show: {0}", sentence));
  return made;
}

/** A bar for each bin, with its values and number as its title. */
function histogram(bins: readonly HistogramBin[]): HTMLElement {
  const most = Math.max(...bins.map(({ count }) => count), 1);
  return element(
    "div",
    { class: "histogram", "aria-hidden": "true" },
    ...bins.map(({ low, high, count }) => {
      const range =
        low === high ? String(rounded(low)) : l10n.t("{0} to {1}", rounded(low), rounded(high));
      const bar = element("span", { class: "bar", title: l10n.t("{0}: {1}", range, count) });
      bar.style.setProperty("--part", String(count / most));
      return bar;
    }),
  );
}
