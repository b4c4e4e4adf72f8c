/** The tokens with the largest differences, as a table. */

import { element } from "../../../reports/page/elements";
import type { ComparisonTexts } from "../../comparison_texts";
import type { WorstToken } from "../../messages";
import { GridFocus } from "../grid_focus";
import { figure, fixed } from "./figures";

type WorstColumn = keyof ComparisonTexts["columns"];

const COLUMNS: readonly WorstColumn[] = ["sequence", "position", "text", "id", "a", "b", "delta"];

export function worstTokens(texts: ComparisonTexts, worst: readonly WorstToken[]): HTMLElement {
  const kind = (column: WorstColumn): string => (column === "text" ? "text" : "number");
  const table = element(
    "table",
    { role: "grid", "aria-labelledby": "worst-title" },
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        ...COLUMNS.map((column) =>
          element(
            "th",
            { scope: "col", tabindex: "-1", class: `fixed ${kind(column)}` },
            texts.columns[column],
          ),
        ),
      ),
    ),
    element(
      "tbody",
      {},
      ...worst.map((token) =>
        element(
          "tr",
          {},
          ...COLUMNS.map((column) =>
            element("td", { tabindex: "-1", class: kind(column) }, cellText(token, column)),
          ),
        ),
      ),
    ),
  );
  new GridFocus(table);
  return element("div", { class: "table" }, table);
}

function cellText(token: WorstToken, column: WorstColumn): string {
  switch (column) {
    case "text":
      return JSON.stringify(token.text);
    case "a":
    case "b":
      return fixed(token[column], 4);
    case "delta":
      return figure(token.delta);
    default:
      return String(token[column]);
  }
}
