/** Rows of trajectories as display text. */

import { filled } from "../../../common/filled";
import { singleLine } from "../../reports/page/texts";
import type { Spread, TrajectoryPage, TrajectoryRow } from "../messages";
import type { TrajectoryTexts } from "../trajectory_texts";
import { rounded } from "./token_colours";

const NONE = "–";
const KILOBYTE = 1e3;
const MEGABYTE = 1e6;

export type ListColumn = keyof TrajectoryTexts["columns"];

export function cellOf(texts: TrajectoryTexts, row: TrajectoryRow, column: ListColumn): string {
  switch (column) {
    case "item":
    case "step":
    case "tokens":
    case "reward":
      return numberText(row[column]);
    case "versions":
      return versionsText(row);
    case "note":
      return noteText(texts, row);
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

export function noteText(texts: TrajectoryTexts, { problem, truncated }: TrajectoryRow): string {
  return singleLine(problem) || (truncated === true ? texts.cut : "");
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
export function sizeText(texts: TrajectoryTexts, page: TrajectoryPage): string {
  const lines = filled(
    page.complete ? texts.lines : texts.linesRead,
    page.items.toLocaleString("en"),
  );
  const files = page.files === 1 ? texts.aFile : filled(texts.someFiles, page.files);
  return [lines, files, bytesText(texts, page.size)].join(" · ");
}

function bytesText(texts: TrajectoryTexts, bytes: number): string {
  const [text, unit] =
    bytes < 100 * KILOBYTE ? [texts.kilobytes, KILOBYTE] : [texts.megabytes, MEGABYTE];
  const size = bytes / unit;
  const shown = size < 10 ? rounded(Number(size.toFixed(1))) : Math.round(size);
  return filled(text, shown.toLocaleString("en"));
}

export function spreadText(texts: TrajectoryTexts, spread: Spread): string {
  const { least, mean, median, p90, most } = spread;
  const values = [least, mean, median, p90, most].map(numberText);
  return spread.count === 0 ? NONE : filled(texts.spread, ...values);
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
