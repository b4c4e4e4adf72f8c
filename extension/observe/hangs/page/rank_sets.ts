/** Sets of ranks as sorted intervals, read from texts such as `0-1,3` and written as such. */

/** First and last rank of each interval: sorted, disjoint, with a gap between two. */
export type Ranks = readonly (readonly [first: number, last: number])[];

/** A longer number isn't a rank. */
const INTERVAL = /^(\d{1,9})(?:\s*-\s*(\d{1,9}))?$/;

/** The ranks of a text; undefined for a text that names none. */
export function parsedRanks(text: string): Ranks | undefined {
  const intervals: [number, number][] = [];
  for (const part of text.split(",").map((each) => each.trim())) {
    if (part === "") {
      continue;
    }
    const match = INTERVAL.exec(part);
    const first = Number(match?.[1]);
    const last = Number(match?.[2] ?? first);
    // A part that names no ranks gives NaN, which is not smaller than itself.
    if (!(first <= last)) {
      return undefined;
    }
    intervals.push([first, last]);
  }
  return joined(intervals);
}

/** The ranks of all `intervals`, which may overlap and come in any order. */
export function joined(intervals: readonly (readonly [number, number])[]): Ranks {
  const result: [number, number][] = [];
  for (const [first, last] of [...intervals].sort((left, right) => left[0] - right[0])) {
    const before = result.at(-1);
    if (before !== undefined && first <= before[1] + 1) {
      before[1] = Math.max(before[1], last);
    } else {
      result.push([first, last]);
    }
  }
  return result;
}

/** The ranks that both have. */
export function intersection(left: Ranks, right: Ranks): Ranks {
  const result: [number, number][] = [];
  let at = 0;
  for (const [first, last] of left) {
    while ((right[at]?.[1] ?? Infinity) < first) {
      at += 1;
    }
    for (let next = at; ; next += 1) {
      const other = right[next];
      if (other === undefined || other[0] > last) {
        break;
      }
      result.push([Math.max(first, other[0]), Math.min(last, other[1])]);
    }
  }
  return result;
}

export function sizeOf(ranks: Ranks): number {
  return ranks.reduce((sum, [first, last]) => sum + last - first + 1, 0);
}

/** A binary search: a table has thousands of rows, and a set as many gaps. */
export function hasRank(ranks: Ranks, rank: number): boolean {
  let [low, high] = [0, ranks.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const [first, last] = ranks[middle] ?? [0, -1];
    if (rank < first) {
      high = middle - 1;
    } else if (rank > last) {
      low = middle + 1;
    } else {
      return true;
    }
  }
  return false;
}

/** "0-1,3"; of more than `most` intervals only the first, then an ellipsis. */
export function ranksText(ranks: Ranks, most = Infinity): string {
  const parts = ranks
    .slice(0, most)
    .map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
  return [...parts, ...(ranks.length > most ? ["…"] : [])].join(",");
}
