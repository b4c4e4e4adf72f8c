/** The table of processes as values to sort by: culprits first, unless the user has chosen a column. */

import { singleLine } from "../../../page/frame/texts";
import { l10n } from "../../../page/frame/l10n";
import type { TableColumn } from "../../../page/frame/grid";
import type { RankRow, VerdictRow } from "../messages";
import { hasRank, parsedRanks } from "./rank_sets";

/** The columns from left to right. */
export const COLUMNS = [
  column("rank", l10n.t("Rank"), true),
  column("group", l10n.t("Group")),
  column("role", l10n.t("Role")),
  column("class", l10n.t("Class")),
  column("doing", l10n.t("Doing")),
  column("call", l10n.t("Call")),
  column("collectives", l10n.t("Collectives started/ended")),
  column("moves", l10n.t("Moves")),
  column("cpu", l10n.t("CPU"), true),
  column("gpus", l10n.t("GPU")),
  column("state", l10n.t("State")),
  column("node", l10n.t("Node")),
  column("pid", l10n.t("PID"), true),
] as const;

export type RankColumn = (typeof COLUMNS)[number]["id"];

function column<Id extends string>(
  id: Id,
  title: string,
  isNumber = false,
): TableColumn & { readonly id: Id } {
  return { id, title, isNumber, sorts: true };
}

export interface RankEntry {
  readonly row: RankRow;
  readonly isCulprit: boolean;
}

export interface RankOrder {
  /** "" for culprits first, then by group and rank. */
  readonly sort: RankColumn | "";
  readonly descending: boolean;
}

/** The place of the class of a process, -1 for one without a stack. */
export type ClassIndex = (row: RankRow) => number;

export function rankEntries(rows: readonly RankRow[], verdict: VerdictRow): readonly RankEntry[] {
  const culprits = parsedRanks(verdict.culprits) ?? [];
  // A cycle has culprits in several groups.
  const groups = verdict.group.split(", ");
  return rows.map((row) => ({
    row,
    isCulprit:
      (verdict.group === "" || verdict.group === row.group || groups.includes(row.group)) &&
      hasRank(culprits, row.rank),
  }));
}

export function sortedEntries(
  entries: readonly RankEntry[],
  { sort, descending }: RankOrder,
  classIndex: ClassIndex,
): readonly RankEntry[] {
  const sign = descending ? -1 : 1;
  const keyed = entries.map((entry) => ({
    entry,
    // A text of several values is made once, not for each comparison.
    key: sort === "" ? Number(!entry.isCulprit) : valueOf(entry.row, sort, classIndex),
  }));
  keyed.sort(
    (left, right) =>
      sign * compared(left.key, right.key) ||
      compared(left.entry.row.group, right.entry.row.group) ||
      left.entry.row.rank - right.entry.row.rank,
  );
  return keyed.map(({ entry }) => entry);
}

function valueOf(row: RankRow, column: RankColumn, classIndex: ClassIndex): string | number {
  switch (column) {
    case "class":
      return classIndex(row);
    case "moves":
      return Number(row.moves);
    case "collectives":
      return collectivesText(row);
    case "gpus":
      return Math.max(-1, ...row.gpus.map(({ last }) => last));
    default:
      return row[column];
  }
}

/** "default_pg 4/3": by process group the last collective that was started, and the last that has ended. */
export function collectivesText({ collectives }: RankRow): string {
  return collectives
    .map(({ group, started, ended }) => `${singleLine(group)} ${started}/${ended}`)
    .join(", ");
}

function compared(left: string | number, right: string | number): number {
  return typeof left === "number" && typeof right === "number"
    ? left - right
    : left < right
      ? -1
      : left > right
        ? 1
        : 0;
}
