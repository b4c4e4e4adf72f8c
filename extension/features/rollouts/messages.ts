// Printed from pybackend/eagleray/features/rollouts/messages.py by `npm run messages`; do not edit.
import { request } from "../../common/wire";

export const PAGE = request<TrajectoryQuery, TrajectoryPage>("eagleray/rollouts/page");
export const ITEM = request<TrajectoryNumber, TrajectoryItem>("eagleray/rollouts/item");
export const GROUP = request<TrajectoryNumber, TrajectoryGroup>("eagleray/rollouts/group");
export const STATISTICS = request<DumpPath, DumpStatistics>("eagleray/rollouts/statistics");

/** A dump of trajectories: a file of JSON lines, or a folder of them. */
export interface DumpPath {
  readonly path: string;
}

/** A trajectory of a dump; `item` counts from 1. */
export interface TrajectoryNumber {
  readonly path: string;
  readonly item: number;
}

/**
 * A part of a trajectory; `trained`: whether the loss counts its tokens, None if the dump doesn't
 * tell.
 */
export interface Turn {
  readonly role: string;
  readonly text: string;
  readonly trained: boolean | null;
}

/**
 * A value for each token; a column that the dump doesn't have is empty.
 *
 * `mask` is 1 where the loss counts the token, `logprobs` are those of the rollout,
 * `trainer_logprobs` those of the
 * trainer, `versions` the weights that sampled the token.
 */
export interface TokenColumns {
  readonly ids: readonly number[];
  readonly texts: readonly string[];
  readonly mask: readonly number[];
  readonly logprobs: readonly (number | null)[];
  readonly trainer_logprobs: readonly (number | null)[];
  readonly versions: readonly number[];
  readonly advantages: readonly (number | null)[];
}

/**
 * A trajectory in the list: `item` counts from 1 over all files, `line` from 1 in its file.
 *
 * Prompt and completion are their beginnings.
 */
export interface TrajectoryRow {
  readonly item: number;
  readonly file: string;
  readonly line: number;
  readonly format: string;
  readonly group: string;
  readonly sample: number | null;
  readonly step: number | null;
  readonly reward: number | null;
  readonly tokens: number | null;
  readonly prompt_tokens: number | null;
  readonly first_version: number | null;
  readonly last_version: number | null;
  readonly truncated: boolean | null;
  readonly prompt: string;
  readonly completion: string;
  readonly problem: string;
}

/** Another field of the line, as JSON if it is not a text. */
export interface NamedText {
  readonly name: string;
  readonly text: string;
}

/**
 * A trajectory in full; `raw` is its line if it couldn't be read.  `cut`: texts or tokens were
 * left out.
 */
export interface TrajectoryItem {
  readonly row: TrajectoryRow;
  readonly turns: readonly Turn[];
  readonly columns: TokenColumns;
  readonly fields: readonly NamedText[];
  readonly raw: string;
  readonly cut: boolean;
}

/**
 * A trajectory of a group; `duplicate_of` is the first item with the same completion, None for its
 * first.
 */
export interface GroupMember {
  readonly row: TrajectoryRow;
  readonly completion: string;
  readonly duplicate_of: number | null;
}

/**
 * The trajectories of one prompt; `shared` characters begin all of their completions.
 *
 * `equal_rewards`: GRPO and its kin give every member the advantage 0.
 */
export interface TrajectoryGroup {
  readonly name: string;
  readonly prompt: string;
  readonly shared: number;
  readonly equal_rewards: boolean;
  readonly members: readonly GroupMember[];
}

/** The last line of a file, which has no end yet. */
export interface UnfinishedLine {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/**
 * Requests rows: those with `search` in a text, that pass the filter, with a reward within the
 * bounds, in an order.
 *
 * `sort` "" is the order of the file.  `start` is 0 or the `next` of the page before.
 */
export interface TrajectoryQuery {
  readonly path: string;
  readonly search?: string;
  readonly filter?: "" | "problems" | "truncated" | "zero-advantage" | "duplicates";
  readonly least_reward?: number | null;
  readonly most_reward?: number | null;
  readonly sort?: "" | "reward" | "length";
  readonly descending?: boolean;
  readonly start?: number;
  readonly limit?: number;
}

/**
 * Rows of the list.  `next` continues the query, None at its end.
 *
 * `matches` counts the items of the query, None while nothing has counted them.  `items` is how
 * many lines were read so
 * far: all of them if `complete`; `size` bytes are in the files, `scanned` of them were read.
 */
export interface TrajectoryPage {
  readonly rows: readonly TrajectoryRow[];
  readonly next: number | null;
  readonly matches: number | null;
  readonly items: number;
  readonly complete: boolean;
  readonly scanned: number;
  readonly size: number;
  readonly files: number;
  readonly unfinished: readonly UnfinishedLine[];
}

/** How values are spread; all 0 without values. */
export interface Spread {
  readonly count: number;
  readonly least: number;
  readonly mean: number;
  readonly median: number;
  readonly p90: number;
  readonly most: number;
}

/** A bar of a histogram: values from `low` up to `high`. */
export interface HistogramBin {
  readonly low: number;
  readonly high: number;
  readonly count: number;
}

/** A group: `item` is its first; rewards are None if none is a number. */
export interface GroupStatistics {
  readonly name: string;
  readonly item: number;
  readonly size: number;
  readonly mean: number | null;
  readonly least: number | null;
  readonly most: number | null;
  readonly equal_rewards: boolean;
  readonly duplicates: number;
  readonly truncated: number | null;
}

/** A sentence about the dump, and the filter that lists its items, "" for none. */
export interface DumpFinding {
  readonly sentence: string;
  readonly filter: string;
}

/**
 * What all lines of a dump sum up to.
 *
 * `unit`: "tokens" or "characters" of completions.  `groups` counts those of two and more,
 * `singles` the others;
 * `by_group` has the first of them.  `truncated` is None if the dump doesn't tell.
 */
export interface DumpStatistics {
  readonly items: number;
  readonly problems: number;
  readonly formats: readonly string[];
  readonly unit: string;
  readonly lengths: Spread;
  readonly rewards: Spread;
  readonly reward_bins: readonly HistogramBin[];
  readonly length_bins: readonly HistogramBin[];
  readonly without_reward: number;
  readonly truncated: number | null;
  readonly groups: number;
  readonly singles: number;
  readonly zero_advantage: number;
  readonly duplicates: number;
  readonly findings: readonly DumpFinding[];
  readonly by_group: readonly GroupStatistics[];
}
