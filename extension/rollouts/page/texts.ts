/** Rows of trajectories as display text. */

import { l10n } from "../../page/frame/l10n";
import { singleLine } from "../../page/frame/texts";
import type { Spread, TrajectoryPage, TrajectoryRow } from "../messages";

import type { COLUMNS } from "./names";
import { rounded } from "./token_colours";

const NONE = "–";
const KILOBYTE = 1e3;
const MEGABYTE = 1e6;

export type ListColumn = keyof typeof COLUMNS;

export function cellOf(row: TrajectoryRow, column: ListColumn): string {
  switch (column) {
    case "item":
    case "step":
    case "tokens":
    case "reward":
      return numberText(row[column]);
    case "versions":
      return versionsText(row);
    case "note":
      return noteText(row);
    default:
      return singleLine(row[column]);
  }
}

export function numberText(value: number | null): string {
  return value === null ? NONE : String(rounded(value));
}

/** "3", "3–4"; a dash if the dump has none. */
export function versionsText({ first_version, last_version }: TrajectoryRow): string {
  if (first_version === null || last_version === null || first_version === last_version) {
    return numberText(first_version ?? last_version);
  }
  return `${first_version}–${last_version}`;
}

export function noteText({ problem, truncated }: TrajectoryRow): string {
  return singleLine(problem) || (truncated === true ? l10n.t("cut") : "");
}

/** The columns of which a row has a value. */
export function columnsOf(rows: readonly TrajectoryRow[]): ListColumn[] {
  const has = (test: (row: TrajectoryRow) => boolean): boolean => rows.some(test);
  const optional: [ListColumn, boolean][] = [
    ["item", true],
    ["reward", true],
    ["tokens", has(({ tokens }) => tokens !== null)],
    ["versions", has(({ first_version }) => first_version !== null)],
    ["step", has(({ step }) => step !== null)],
    ["note", has(({ problem, truncated }) => problem !== "" || truncated === true)],
    ["prompt", true],
    ["completion", true],
  ];
  return optional.filter(([, exists]) => exists).map(([column]) => column);
}

/** "81,174 lines · 2 files · 1,000 MB". */
export function sizeText(page: TrajectoryPage): string {
  const lines = page.complete
    ? l10n.t("{0} lines", page.items.toLocaleString("en"))
    : l10n.t("{0} lines so far", page.items.toLocaleString("en"));
  const files = page.files === 1 ? l10n.t("1 file") : l10n.t("{0} files", page.files);
  return [lines, files, bytesText(page.size)].join(" · ");
}

function bytesText(bytes: number): string {
  const isSmall = bytes < 100 * KILOBYTE;
  const size = bytes / (isSmall ? KILOBYTE : MEGABYTE);
  const shown = (size < 10 ? rounded(Number(size.toFixed(1))) : Math.round(size)).toLocaleString(
    "en",
  );
  return isSmall ? l10n.t("{0} kB", shown) : l10n.t("{0} MB", shown);
}

export function spreadText(spread: Spread): string {
  const { least, mean, median, p90, most } = spread;
  const values = [least, mean, median, p90, most].map(numberText);
  return spread.count === 0
    ? NONE
    : l10n.t("min {0}, mean {1}, p50 {2}, p90 {3}, max {4}", ...values);
}

/** The number in a field; null for an empty one, undefined for a text that is none. */
export function parsedNumber(text: string): number | null | undefined {
  const trimmed = text.trim();
  if (trimmed === "") {
    return null;
  }
  const value = Number(trimmed);
  return Number.isFinite(value) ? value : undefined;
}
