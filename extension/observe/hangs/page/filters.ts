/** Which classes and processes of a picture are shown: by rank, role, node and thread. */

import type { Picture, RankRow } from "../messages";
import { hasRank, intersection, joined, parsedRanks, type Ranks } from "./rank_sets";
import type { ShownClass } from "./stack_tree";

/** "" restricts nothing; `ranks` is a text such as `0-1,3`. */
export interface Filter {
  readonly ranks: string;
  readonly role: string;
  readonly node: string;
  readonly thread: string;
}

export const NO_FILTER: Filter = { ranks: "", role: "", node: "", thread: "" };

export function isValid({ ranks }: Filter): boolean {
  return parsedRanks(ranks) !== undefined;
}

/** The values that a filter can have, in any order; a list with one value filters nothing. */
export function choices(
  picture: Picture,
): Readonly<Record<"role" | "node" | "thread", readonly string[]>> {
  return {
    role: distinct(picture.ranks.map(({ role }) => role)),
    node: distinct(picture.ranks.map(({ node }) => node)),
    thread: distinct(picture.classes.map(({ thread }) => thread)),
  };
}

function distinct(values: readonly string[]): readonly string[] {
  return [...new Set(values)].filter((value) => value !== "");
}

/** The values as a list shows them: "node-9" before "node-10". */
export function inOrder(values: readonly string[]): readonly string[] {
  // `localeCompare` would look the language up for each of thousands of comparisons.
  const { compare } = new Intl.Collator("en", { numeric: true });
  return [...values].sort(compare);
}

/** The processes that fit; a thread is one of a class, so its filter needs the class of each process. */
export function shownRanks(
  rows: readonly RankRow[],
  filter: Filter,
  threadOf: (row: RankRow) => string | undefined,
): readonly RankRow[] {
  const ranks = parsedRanks(filter.ranks) ?? [];
  return rows.filter(
    (row) =>
      (ranks.length === 0 || hasRank(ranks, row.rank)) &&
      (filter.role === "" || row.role === filter.role) &&
      (filter.node === "" || row.node === filter.node) &&
      (filter.thread === "" || threadOf(row) === filter.thread),
  );
}

/** The classes with some of the processes `rows`, and of each only these. */
export function classesWith(
  classes: readonly ShownClass[],
  rows: readonly RankRow[],
): readonly ShownClass[] {
  const numbers = new Map<string, (readonly [number, number])[]>();
  for (const { group, rank } of rows) {
    const ofGroup = numbers.get(group) ?? [];
    ofGroup.push([rank, rank]);
    numbers.set(group, ofGroup);
  }
  const byGroup = new Map<string, Ranks>();
  for (const [group, ranks] of numbers) {
    byGroup.set(group, joined(ranks));
  }
  return classes
    .map((shown) => ({
      ...shown,
      ranks: intersection(shown.ranks, byGroup.get(shown.entry.group) ?? []),
    }))
    .filter(({ ranks }) => ranks.length > 0);
}
