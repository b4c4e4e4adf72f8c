// Printed from pybackend/eagleray/rollouts/messages.py by `npm run messages`; do not edit.
import { notification, request, type Nothing } from "../common/wire";
import type { Breakpoint } from "../runs/messages";

export const PAGE = request<TrajectoryQuery, TrajectoryPage>("eagleray/rollouts/page");
export const ITEM = request<TrajectoryNumber, TrajectoryItem>("eagleray/rollouts/item");
export const GROUP = request<TrajectoryNumber, TrajectoryGroup>("eagleray/rollouts/group");
export const STATISTICS = request<DumpPath, DumpStatistics>("eagleray/rollouts/statistics");
export const COMPARE = request<ComparisonRequest, ShownComparison>("eagleray/rollouts/compare");
export const SAVE_COMPARISON = request<ComparisonToSave, Nothing>("eagleray/rollouts/saveComparison");
export const COMPARISON_MARKDOWN = request<ComparisonName, ComparisonText>("eagleray/rollouts/comparisonMarkdown");
export const BATCH = request<BatchFile, DescribedBatch>("eagleray/rollouts/batch");
export const SAVE_BATCH = request<DumpToSave, WrittenBatch>("eagleray/rollouts/saveBatch");
export const REPLAY = request<ReplayRequest, ReplayCommand>("eagleray/rollouts/replay");
export const AGENTS = request<ProgramText, AgentClasses>("eagleray/rollouts/agents");
export const ITEMS = request<DataFile, ItemRows>("eagleray/rollouts/items");
export const STORE_ITEM = request<GivenItem, StoredItem>("eagleray/rollouts/storeItem");
export const DEBUG_AGENT = request<DebugAgent, StartedAgent>("eagleray/rollouts/debugAgent");
export const WAVE = request<WaveRequest, WaveReport>("eagleray/rollouts/wave");
export const CANCEL_WAVE = request<WaveName, Nothing>("eagleray/rollouts/cancelWave");
export const WAVE_CHANGED = notification<WaveChange>("eagleray/rollouts/waveChanged");

/** Runs the agent for item `number`, counted from 1, of the file `data`; `server` is a name or URL. */
export interface DebugAgent {
  readonly target: string;
  readonly cwd: string;
  readonly python?: string;
  readonly mode?: "inline" | "subproc";
  readonly arguments?: string;
  readonly data: string;
  readonly number: number;
  readonly server: string;
  readonly workspace: string;
  readonly breakpoints?: readonly Breakpoint[];
}

/** A wave of a page, which gives it a name of its own; `timeout_s` is 0 for none, `server` a name or URL. */
export interface WaveRequest {
  readonly target: string;
  readonly cwd: string;
  readonly python?: string;
  readonly mode?: "inline" | "subproc";
  readonly arguments?: string;
  readonly wave: string;
  readonly data: string;
  readonly server: string;
  readonly groups: number;
  readonly group_size: number;
  readonly timeout_s?: number;
}

/** A run of a wave in a row; `path:line` is where it failed or was late. */
export interface WaveRun {
  readonly index: number;
  readonly item: number;
  readonly group: number;
  readonly member: number;
  readonly outcome: "done" | "rejected" | "failed" | "timeout" | "cancelled";
  readonly seconds: number;
  readonly reward: number | null;
  readonly trace: number;
  readonly problem: string;
  readonly path: string;
  readonly line: number;
}

/**
 * The end of a wave: `runs` are those that failed, then the slowest.
 *
 * `ending` says why it ended early, that the server didn't answer, or that tokens aren't counted, "" if none of these.
 * `trace` is the file with all runs.
 */
export interface WaveReport {
  readonly progress: WaveProgress;
  readonly verdicts: readonly WaveVerdict[];
  readonly contract: readonly ContractRule[];
  readonly runs: readonly WaveRun[];
  readonly ending: string;
  readonly problem: string;
  readonly is_cancelled: boolean;
  readonly trace: string;
}

/**
 * A class of a file that a framework would run, by its qualified name; `line` counts from 1.
 *
 * A workflow is one with `arun_episode`, which needs AReaL in the interpreter.
 */
export interface AgentClass {
  readonly name: string;
  readonly line: number;
  readonly kind: "agent" | "workflow";
}

/** A rule of the framework, and whether the agent follows it. */
export interface ContractRule {
  readonly rule: string;
  readonly ok: boolean;
  readonly text: string;
}

/** A line of the user's code; `inner` is the function of a library that it called. */
export interface CodeLine {
  readonly file: string;
  readonly line: number;
  readonly function: string;
  readonly text: string;
  readonly inner: string;
}

/** How long a line held the event loop: waiting for something, computing, or making clients; in so many samples. */
export interface HeldLoop {
  readonly place: CodeLine;
  readonly waiting_s: number;
  readonly computing_s: number;
  readonly own_s: number;
  readonly awaited_s: number;
  readonly constructing_s: number;
  readonly longest_s: number;
  readonly samples: number;
}

/** Synchronous requests of a line in the thread of the event loop, which waited for all their time. */
export interface BlockingCall {
  readonly place: CodeLine;
  readonly seconds: number;
  readonly calls: number;
}

/** The line at which most runs waited for each other, and their share of the runs of so many samples. */
export interface Contention {
  readonly place: CodeLine;
  readonly kind: "lock" | "thread";
  readonly share: number;
  readonly samples: number;
}

/**
 * The totals at a moment; `lag_p50_ms` and `lag_max_ms` are lags of the event loop.
 *
 * Requests come from known clients, with `unattributed` ones to the server from threads of which no run is known;
 * `unobserved` is the number of connections to the server that other clients opened.
 */
export interface WaveTotals {
  readonly seconds: number;
  readonly in_flight: number;
  readonly max_in_flight: number;
  readonly ended: number;
  readonly requests: number;
  readonly requests_in_flight: number;
  readonly max_requests_in_flight: number;
  readonly tokens: number;
  readonly lag_p50_ms: number;
  readonly lag_max_ms: number;
  readonly lines: readonly HeldLoop[];
  readonly blocking: readonly BlockingCall[];
  readonly unobserved: number;
  readonly unattributed: number;
  readonly contention: Contention | null;
}

/** In milliseconds; 0 where nothing was measured. */
export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Rewards from `low` up to `high`. */
export interface RewardBin {
  readonly low: number;
  readonly high: number;
  readonly count: number;
}

/** A problem of a wave, and its place; `file` is "" where no line of the user's code is the cause. */
export interface WaveVerdict {
  readonly kind: "http-error" | "empty-answers" | "blocking-call" | "self-limited" | "client-per-run" | "pool-exhausted" | "server-saturated" | "left-tasks" | "shared-messages" | "timeout" | "straggler";
  readonly sentence: string;
  readonly file: string;
  readonly line: number;
}

/** The data that a view draws while a wave runs. */
export interface WaveProgress {
  readonly runs: number;
  readonly done: number;
  readonly failed: number;
  readonly totals: WaveTotals;
  readonly latency_ms: Percentiles;
  readonly rewards: readonly RewardBin[];
}

/** The sums of a mask's rows: `empty` rows have none. */
export interface RowSums {
  readonly total: number;
  readonly least: number;
  readonly most: number;
  readonly empty: number;
}

/** A tensor by its path in the batch; its spread is of finite values, None without any. */
export interface BatchTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly bytes: number;
  readonly nan: number;
  readonly infinite: number;
  readonly least: number | null;
  readonly most: number | null;
  readonly mean: number | null;
  readonly std: number | null;
  readonly row_sums: RowSums | null;
}

/** The spread of a tensor's values of tokens that the loss counts. */
export interface MaskedValues {
  readonly name: string;
  readonly count: number;
  readonly least: number | null;
  readonly most: number | null;
  readonly mean: number | null;
  readonly std: number | null;
}

/** A value that is not a tensor: its path, its type and the beginning of its text. */
export interface BatchValue {
  readonly name: string;
  readonly type: string;
  readonly text: string;
}

/**
 * A batch as `torch.load` gives it.
 *
 * `loaded` is "weights_only" or "unpickled", `names` are those that the file may have executed then; `left_out` counts
 * parts that are not listed.
 */
export interface BatchSummary {
  readonly torch: string;
  readonly loaded: string;
  readonly kind: string;
  readonly names: readonly string[];
  readonly tensors: readonly BatchTensor[];
  readonly values: readonly BatchValue[];
  readonly masked: readonly MaskedValues[];
  readonly left_out: number;
}

/** A batch that was made of a dump: `skipped` trajectories have no token ids or no reward. */
export interface WrittenBatch {
  readonly path: string;
  readonly rows: number;
  readonly skipped: number;
  readonly tensors: Readonly<Record<string, readonly number[]>>;
}

/** A and B as `target_of` reads them, the file of the prompts ("" for dumps), and what `torch:DIR` runs in. */
export interface ComparisonRequest {
  readonly a: string;
  readonly b: string;
  readonly data?: string;
  readonly python?: string;
  readonly limit?: number;
  readonly max_tokens?: number;
}

/**
 * The metrics that the trainer would see: A are the rollouts, B is the trainer; `pearson` is None where it is not
 * defined.
 */
export interface LogprobMetrics {
  readonly tokens: number;
  readonly mean_abs_dlogp: number;
  readonly max_abs_dlogp: number;
  readonly mean_abs_dp: number;
  readonly k1_kl: number;
  readonly k3_kl: number;
  readonly mult_error: number;
  readonly pearson: number | null;
}

/**
 * The ratios p(B) / p(A) of a trainer: the shares outside 0.8 to 1.25 and above a cap of 2, and the largest.
 *
 * `quarters` are the shares outside in each quarter of the completions, `half` is the share of tokens that makes half
 * of the differences.
 */
export interface ImportanceRatios {
  readonly outside: number;
  readonly largest: number;
  readonly clipped: number;
  readonly quarters: readonly number[];
  readonly half: number;
}

/** The ratios of one training step. */
export interface StepRatios {
  readonly step: number;
  readonly tokens: number;
  readonly k3_kl: number;
  readonly outside: number;
  readonly largest: number;
}

/** Where B would choose another token than A did; margins are logprobs between the two tokens. */
export interface GreedyDivergence {
  readonly sequence: number;
  readonly position: number;
  readonly a_id: number;
  readonly b_id: number;
  readonly a_margin: number | null;
  readonly b_margin: number;
  readonly is_near_tie: boolean;
}

/** A reading of the figures by its title; `confidence` is between 0 and 1. */
export interface ShownReading {
  readonly title: string;
  readonly confidence: number;
  readonly sentence: string;
}

/** A side of the comparison; what it doesn't say is "". */
export interface ShownEngine {
  readonly name: string;
  readonly kind: string;
  readonly model: string;
  readonly dtype: string;
}

/** Where the ids of a prompt differ first; `prompt` counts from 1. */
export interface ShownPromptDifference {
  readonly prompt: number;
  readonly position: number;
  readonly a: readonly number[];
  readonly b: readonly number[];
}

/** The greedy tokens of both engines; `agreement` is the share of tokens, `first.sequence` counts from 1. */
export interface ShownGreedy {
  readonly sequences: number;
  readonly diverged: number;
  readonly near_ties: number;
  readonly agreement: number;
  readonly first: GreedyDivergence | null;
}

/**
 * A row of the heat map; `sequence` counts from 1.
 *
 * Each of `cells` is the largest difference (A's logprob minus B's) of `cell_tokens` tokens, at the position that `at`
 * has.  `divergence` is the position of the first other greedy token.
 */
export interface DeltaRow {
  readonly sequence: number;
  readonly tokens: number;
  readonly mean_abs_dlogp: number;
  readonly max_abs_dlogp: number;
  readonly cell_tokens: number;
  readonly cells: readonly number[];
  readonly at: readonly number[];
  readonly divergence: number | null;
}

/** A token with one of the largest differences; `sequence` counts from 1, `position` from 0. */
export interface WorstToken {
  readonly sequence: number;
  readonly position: number;
  readonly id: number;
  readonly text: string;
  readonly a: number;
  readonly b: number;
  readonly delta: number;
}

/**
 * Two engines compared: A are the rollouts, B is the trainer.
 *
 * `readings` are all of the verdict, the likeliest first.  `rows` are the sequences with the largest differences, of
 * `sequences` in all.  `steps` are the last ones of a training.  `stored` is the name by which it can be saved, "" if
 * it isn't stored.
 */
export interface ShownComparison {
  readonly metrics: LogprobMetrics | null;
  readonly ratios: ImportanceRatios | null;
  readonly steps: readonly StepRatios[];
  readonly notes: readonly string[];
  readonly verdict: string;
  readonly title: string;
  readonly confidence: number;
  readonly sentence: string;
  readonly next_step: string;
  readonly readings: readonly ShownReading[];
  readonly a: ShownEngine;
  readonly b: ShownEngine;
  readonly prompts: number;
  readonly prompts_different: number;
  readonly prompt_difference: ShownPromptDifference | null;
  readonly greedy: ShownGreedy;
  readonly sequences: number;
  readonly rows: readonly DeltaRow[];
  readonly worst: readonly WorstToken[];
  readonly stored: string;
}

/** A dump of trajectories: a file of JSON lines, or a folder of them. */
export interface DumpPath {
  readonly path: string;
}

/** A trajectory of a dump; `item` counts from 1. */
export interface TrajectoryNumber {
  readonly path: string;
  readonly item: number;
}

/** A comparison by the name that it was given. */
export interface ComparisonName {
  readonly stored: string;
}

/** A stored comparison, and the file into which it is saved. */
export interface ComparisonToSave {
  readonly stored: string;
  readonly path: string;
}

/** A comparison in Markdown, without secrets. */
export interface ComparisonText {
  readonly text: string;
}

/** A file of torch.save, and the Python that reads it; `unpickle`: code that it names may be executed. */
export interface BatchFile {
  readonly path: string;
  readonly python: string;
  readonly unpickle?: boolean;
}

/** The contents of a batch, and its problems. */
export interface DescribedBatch {
  readonly summary: BatchSummary;
  readonly findings: readonly string[];
}

/** A dump, and the file that a batch of it is written to. */
export interface DumpToSave {
  readonly path: string;
  readonly batch: string;
  readonly python: string;
}

/**
 * The training on a saved batch: a script for AReaL, with `config`; the `command` of the training for verl, in `cwd`.
 *
 * `replace`: an existing script is overwritten.
 */
export interface ReplayRequest {
  readonly framework: "areal" | "verl";
  readonly batch: string;
  readonly script?: string;
  readonly config?: string;
  readonly command?: string;
  readonly cwd?: string;
  readonly unpickle?: boolean;
  readonly replace?: boolean;
}

/** The command that trains; `script` is "" for verl. */
export interface ReplayCommand {
  readonly script: string;
  readonly argv: readonly string[];
}

/** The text of a Python file, as it is in the editor. */
export interface ProgramText {
  readonly text: string;
}

/** The agents of a file, from top to bottom; None while its text isn't valid Python. */
export interface AgentClasses {
  readonly classes: readonly AgentClass[] | null;
}

/** A file with data items; a Parquet file is read by `python`, "" for the first one of the PATH. */
export interface DataFile {
  readonly path: string;
  readonly cwd: string;
  readonly python?: string;
}

/** The beginning of a data item, as JSON; `number` counts from 1. */
export interface ItemRow {
  readonly number: number;
  readonly text: string;
}

/** The first items of a file. */
export interface ItemRows {
  readonly items: readonly ItemRow[];
}

/** A data item that the user pasted or typed: JSON, or lines of it. */
export interface GivenItem {
  readonly text: string;
}

/** The file in which items are stored, which only the user can read. */
export interface StoredItem {
  readonly path: string;
}

/** The run of an agent that is debugged. */
export interface StartedAgent {
  readonly run: string;
}

/** A wave by the name that its page has given it. */
export interface WaveName {
  readonly wave: string;
}

/** The progress of a wave that runs. */
export interface WaveChange {
  readonly wave: string;
  readonly progress: WaveProgress;
}

/** A part of a trajectory; `trained`: whether the loss counts its tokens, None if the dump doesn't tell. */
export interface Turn {
  readonly role: string;
  readonly text: string;
  readonly trained: boolean | null;
}

/**
 * A value for each token; a column that the dump doesn't have is empty.
 *
 * `mask` is 1 where the loss counts the token, `logprobs` come from the rollout, `trainer_logprobs` from the trainer,
 * `versions` the weights that sampled the token.
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
  readonly format: string;
  readonly prompt: string;
  readonly completion: string;
  readonly group: string;
  readonly sample: number | null;
  readonly step: number | null;
  readonly reward: number | null;
  readonly tokens: number | null;
  readonly prompt_tokens: number | null;
  readonly first_version: number | null;
  readonly last_version: number | null;
  readonly problem: string;
  readonly item: number;
  readonly file: string;
  readonly line: number;
  readonly truncated: boolean | null;
}

/** Another field of the line, as JSON if it is not a text. */
export interface NamedText {
  readonly name: string;
  readonly text: string;
}

/** A trajectory in full; `raw` is its line if it couldn't be read.  `cut`: texts or tokens were left out. */
export interface TrajectoryItem {
  readonly row: TrajectoryRow;
  readonly turns: readonly Turn[];
  readonly columns: TokenColumns;
  readonly fields: readonly NamedText[];
  readonly raw: string;
  readonly cut: boolean;
}

/** A trajectory of a group; `duplicate_of` is the first item with the same completion, None for its first. */
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
 * Requests rows: those with `search` in a text, that pass the filter, with a reward within the bounds, in an order.
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
 * `matches` counts the items of the query, None while nothing has counted them.  `items` is how many lines were read so
 * far: all of them if `complete`; `size` bytes are in the files, `scanned` of them were read.  `notes` name what the
 * rows don't have.
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
  readonly notes: readonly string[];
}

/** How values are spread; all None without values. */
export interface Spread {
  readonly count: number;
  readonly least: number | null;
  readonly mean: number | null;
  readonly median: number | null;
  readonly p90: number | null;
  readonly most: number | null;
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
 * The totals of all lines of a dump.
 *
 * `unit`: "tokens" or "characters" of completions.  `groups` counts groups of two and more, `singles` what is in none;
 * `by_group` has the first of them.  A number is None if the dump doesn't have what it is computed from.
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
  readonly groups: number | null;
  readonly singles: number | null;
  readonly zero_advantage: number | null;
  readonly duplicates: number | null;
  readonly findings: readonly DumpFinding[];
  readonly by_group: readonly GroupStatistics[];
}
