/** The counts of workers as texts, the same in every view. */

import { l10n } from "vscode";

import type { StopCounts } from "./messages";

/** "4 paused", "1 held", "1 debugging"; none without any, which is the usual case. */
export function stopTexts({ paused, held, debugging }: StopCounts): readonly string[] {
  return [
    paused > 0 ? l10n.t("{0} paused", paused) : "",
    held > 0 ? l10n.t("{0} held", held) : "",
    debugging > 0 ? l10n.t("{0} debugging", debugging) : "",
  ].filter((text) => text !== "");
}

/** The counts of rows in these states. */
export function stopCounts(rows: readonly { readonly state: string }[]): StopCounts {
  const count = (wanted: string): number => rows.filter(({ state }) => state === wanted).length;
  return { paused: count("paused"), held: count("held"), debugging: count("debugging") };
}

export function workersText(workers: number): string {
  switch (workers) {
    case 0:
      return l10n.t("no workers");
    case 1:
      return l10n.t("1 worker");
    default:
      return l10n.t("{0} workers", workers);
  }
}

/** "1 paused", "1 debugging", "4 workers". */
export function countTexts(rows: readonly { readonly state: string }[]): readonly string[] {
  return [...stopTexts(stopCounts(rows)), workersText(rows.length)];
}
