/** The name of a worker, the same in rows, sessions, messages and pick lists, and texts of several ranks. */

import { l10n } from "vscode";

import { COLORS } from "../../contributions";
import type { PausedWorker } from "./messages";

/** The icons of workers in all views: states differ in shape, and in colour. */
export const STATE_ICONS: Readonly<
  Record<PausedWorker["state"], { readonly icon: string; readonly color: string }>
> = {
  paused: { icon: "debug-pause", color: COLORS.paused },
  held: { icon: "lock", color: COLORS.held },
  debugging: { icon: "debug-alt", color: COLORS.running },
  running: { icon: "debug-continue", color: COLORS.running },
  gone: { icon: "debug-disconnect", color: "disabledForeground" },
};

/** "policy-0 (rank 0)"; a driver has no rank. */
export function workerName({
  name,
  rank,
}: {
  readonly name: string;
  readonly rank: number | null;
}): string {
  return rank === null ? name : l10n.t("{0} (rank {1})", name, rank);
}

/** "rank 0"; "" for a worker without one. */
export function rankText(rank: number | null): string {
  return rank === null ? "" : l10n.t("rank {0}", rank);
}

/** Whether the name ends with the rank, as "policy-3" does. */
export function namesRank(name: string, rank: number | null): boolean {
  return rank === null || new RegExp(`(^|[^0-9])0*${rank}$`).test(name);
}

/** "0-6, 9": ranks in order, those that follow one another as a range. */
export function rankRanges(ranks: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const rank of [...new Set(ranks)].sort((left, right) => left - right)) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] + 1 === rank) {
      last[1] = rank;
    } else {
      ranges.push([rank, rank]);
    }
  }
  return ranges
    .flatMap(([from, to]) => (to === from + 1 ? [`${from}`, `${to}`] : [range(from, to)]))
    .join(", ");
}

function range(from: number, to: number): string {
  return from === to ? `${from}` : `${from}-${to}`;
}

/** "policy.py:42". */
export function shortPlace(path: string, line: number): string {
  return `${path.slice(path.lastIndexOf("/") + 1)}:${line}`;
}

export function stateWord(state: PausedWorker["state"]): string {
  switch (state) {
    case "paused":
      return l10n.t("paused");
    case "held":
      return l10n.t("held");
    case "debugging":
      return l10n.t("debugging");
    case "running":
      return l10n.t("running");
    case "gone":
      return l10n.t("node lost");
  }
}
