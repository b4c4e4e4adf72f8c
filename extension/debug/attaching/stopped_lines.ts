/** Which workers are paused at each line of a file: the texts beside those lines, tested without an editor. */

import { l10n } from "vscode";

import { dotted, plain } from "../../common/texts";
import type { PausedWorker, Snapshot } from "../workers/messages";
import { rankRanges, rankText } from "../workers/names";
import { allWorkers, targetKey, targetOf } from "./model";

/** A line (from 1) with the workers that are stopped there. */
export interface StoppedLine {
  readonly line: number;
  /** "← ranks 0-6, 9 paused"; with the worker that the editor shows "← rank 2 · 0, 1, 3 paused". */
  readonly text: string;
  readonly workers: readonly PausedWorker[];
  /** The key of the worker that the editor shows, if it is stopped here. */
  readonly inFront: string | undefined;
}

/** More names than this are only counted. */
const NAMED_AT_MOST = 3;

/**
 * The stopped lines of a local file, in order.
 *
 * A worker is in the file by the local path that the sidecar found for it, else by its own path, which is the
 * same where both have one file system.
 */
export function stoppedLines(
  snapshot: Snapshot,
  file: string,
  inFront: string | undefined,
): StoppedLine[] {
  const lines = new Map<number, PausedWorker[]>();
  for (const worker of allWorkers(snapshot)) {
    const { location, state } = worker;
    if (location === null || state === "gone" || state === "running") {
      continue;
    }
    if ((location.local || location.path) === file) {
      lines.set(location.line, [...(lines.get(location.line) ?? []), worker]);
    }
  }
  return [...lines]
    .sort(([left], [right]) => left - right)
    .map(([line, workers]) => {
      const own = workers.find((worker) => targetKey(targetOf(worker)) === inFront);
      return { line, text: lineText(workers, own), workers, inFront: own && inFront };
    });
}

/** Fits all lines of all files: whether they have to be drawn again. */
export function sameLines(left: readonly StoppedLine[], right: readonly StoppedLine[]): boolean {
  const key = (lines: readonly StoppedLine[]): string =>
    JSON.stringify(lines.map(({ line, text, workers }) => [line, text, workers.map(targetOf)]));
  return key(left) === key(right);
}

function lineText(workers: readonly PausedWorker[], own: PausedWorker | undefined): string {
  const others = workers.filter((worker) => worker !== own);
  const isRanked = own !== undefined && own.rank !== null;
  const waiting = workersText(
    others.filter(({ state }) => state !== "debugging"),
    isRanked,
  );
  const debugged = workersText(
    others.filter(({ state }) => state === "debugging"),
    isRanked,
  );
  const shown = own === undefined ? "" : rankText(own.rank) || plain(own.name);
  const text = dotted(
    shown,
    debugged === "" ? "" : l10n.t("debugging {0}", debugged),
    waiting === "" ? "" : l10n.t("{0} paused", waiting),
  );
  return `← ${text}`;
}

/** "rank 0", "ranks 0-6, 9", after a rank only "0-6, 9"; workers without a rank by name. */
function workersText(workers: readonly PausedWorker[], isAfterRank: boolean): string {
  const ranks = workers.flatMap(({ rank }) => (rank === null ? [] : [rank]));
  const names = workers.flatMap((worker) => (worker.rank === null ? [plain(worker.name)] : []));
  const unranked =
    names.length > NAMED_AT_MOST ? l10n.t("{0} workers", names.length) : names.join(", ");
  const numbers = rankRanges(ranks);
  const ranked =
    isAfterRank || ranks.length === 0
      ? numbers
      : ranks.length === 1
        ? l10n.t("rank {0}", numbers)
        : l10n.t("ranks {0}", numbers);
  return [ranked, unranked].filter((text) => text !== "").join(", ");
}
