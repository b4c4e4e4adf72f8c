/** The tokens with the largest differences, as a table. */

import { element } from "../../../page/frame/elements";
import { l10n } from "../../../page/frame/l10n";
import type { TableColumn } from "../../../page/frame/grid";
import { SortedTable, tableCell } from "../../../page/frame/table";
import type { WorstToken } from "../../messages";
import { figure, fixed } from "./figures";

const COLUMNS = [
  column("sequence", l10n.t("Sequence")),
  column("position", l10n.t("Token")),
  { ...column("text", l10n.t("Text")), isNumber: false },
  column("id", l10n.t("Id")),
  column("a", l10n.t("A")),
  column("b", l10n.t("B")),
  column("delta", l10n.t("Δlogp")),
];

export function worstTokens(worst: readonly WorstToken[]): HTMLElement {
  const rows = worst.map((token) =>
    element("tr", {}, ...COLUMNS.map((each) => tableCell(each, cellText(token, each.id)))),
  );
  const table = new SortedTable(l10n.t("Worst Tokens"));
  table.draw({ columns: COLUMNS, rows, total: rows.length });
  return table.root;
}

function column<Id extends keyof WorstToken>(id: Id, title: string): TableColumn & { id: Id } {
  return { id, title, isNumber: true, sorts: false };
}

function cellText(token: WorstToken, id: keyof WorstToken): string {
  switch (id) {
    case "text":
      return JSON.stringify(token.text);
    case "a":
    case "b":
      return fixed(token[id], 4);
    case "delta":
      return figure(token.delta);
    default:
      return String(token[id]);
  }
}
