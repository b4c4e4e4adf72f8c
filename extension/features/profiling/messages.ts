// Printed from pybackend/eagleray/features/profiling/messages.py by `npm run messages`; do not edit.
import { notification, request, type Nothing } from "../../common/wire";

export const REPORT = request<ReportOf, Report>("eagleray/profiling/report");
export const TABLE = request<TableOf, Table>("eagleray/profiling/table");
export const REPORT_TEXT = request<ReportOf, ReportText>("eagleray/profiling/reportText");
export const TABLE_TEXT = request<TableTextOf, TableText>("eagleray/profiling/tableText");
export const LIST = request<Nothing, ProfiledRuns>("eagleray/profiling/list");
export const CHANGED = notification<ProfiledRuns>("eagleray/profiling/changed");
export const RECORD = request<Record, Asked>("eagleray/profiling/record");
export const STOP = request<Recording, Asked>("eagleray/profiling/stop");
export const GATHER = request<Gather, Gathered>("eagleray/profiling/gather");
export const WORKERS = request<WorkersOf, Preview>("eagleray/profiling/workers");

/** Asks for the summary of a `.nsys-rep`, or of the `.sqlite` that nsys made of one. */
export interface ReportOf {
  readonly path: string;
}

/**
 * A column; `kind` says how its cells are shown: names, counts, nanoseconds, bytes, bytes/s,
 * shares.
 */
export interface Column {
  readonly id: string;
  readonly title: string;
  readonly kind: "text" | "count" | "ns" | "bytes" | "rate" | "share";
}

/**
 * The first rows of a table, in the order that was asked for; a cell is None where nothing is
 * known.
 *
 * `total` counts all rows that fit the search, shown or not; `note` says what is to be known of
 * the table.
 */
export interface Table {
  readonly id: "kernels" | "nvtx" | "gaps" | "memcpy" | "cuda_api" | "osrt" | "threads";
  readonly title: string;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly (string | number | null)[])[];
  readonly total: number;
  readonly sorted_by: string;
  readonly descending: boolean;
  readonly note: string;
}

/**
 * Asks for a table in another order, or for the rows in which `search` occurs (in any case of
 * letters).
 *
 * `sort` is the id of a column, "" for the usual one.
 */
export interface TableOf {
  readonly path: string;
  readonly table: "kernels" | "nvtx" | "gaps" | "memcpy" | "cuda_api" | "osrt" | "threads";
  readonly sort?: string;
  readonly descending?: boolean;
  readonly search?: string;
  readonly limit?: number;
}

/** Asks for a table as text for other programs, in that order and searched so. */
export interface TableTextOf {
  readonly path: string;
  readonly table: "kernels" | "nvtx" | "gaps" | "memcpy" | "cuda_api" | "osrt" | "threads";
  readonly format: "markdown" | "csv";
  readonly sort?: string;
  readonly descending?: boolean;
  readonly search?: string;
}

/** All `rows` that are known of a table; `total` counts those that fit, known or not. */
export interface TableText {
  readonly title: string;
  readonly text: string;
  readonly rows: number;
  readonly total: number;
}

/**
 * A GPU, and how much of the recording at least one kernel ran on it (`busy_ns`).
 *
 * It is looked at from `begin_ns`, where the first kernel of any GPU begins, to `end_ns`, where
 * the last one
 * ends; `curve` is the busy share in equal steps between them.  `nccl_ns` is how long a kernel of
 * NCCL ran,
 * `nccl_alone_ns` how long nothing else ran beside it.
 */
export interface Gpu {
  readonly id: number;
  readonly name: string;
  readonly kernels: number;
  readonly begin_ns: number;
  readonly end_ns: number;
  readonly busy_ns: number;
  readonly idle_ns: number;
  readonly busy_share: number;
  readonly nccl_ns: number;
  readonly nccl_alone_ns: number;
  readonly curve: readonly number[];
}

/** Why a report may not say what one expects, and what to do about it. */
export interface ReportWarning {
  readonly code: string;
  readonly message: string;
  readonly next_step: string;
}

/**
 * The summary of a report.  `database` is the file that was read; texts are "" where nothing is
 * known.
 *
 * `started_utc` is in ISO 8601; `trace` is what nsys was asked to record, e.g. "cuda,nvtx".
 */
export interface Report {
  readonly path: string;
  readonly name: string;
  readonly database: string;
  readonly size: number;
  readonly host: string;
  readonly started_utc: string;
  readonly duration_ns: number;
  readonly nsys_version: string;
  readonly schema_version: string;
  readonly trace: string;
  readonly gpus: readonly Gpu[];
  readonly tables: readonly Table[];
  readonly warnings: readonly ReportWarning[];
}

/** The summary and the first rows of its tables, in Markdown. */
export interface ReportText {
  readonly text: string;
}

/**
 * A worker of a profiled run; `sentence` is what its log says of it, or why it runs without nsys
 * ("missing").
 *
 * `reports` are those of it that are here, as absolute paths.
 */
export interface ProfiledWorker {
  readonly run: string;
  readonly worker_id: string;
  readonly name: string;
  readonly node: string;
  readonly state: "profiled" | "recording" | "writing" | "gathered" | "missing";
  readonly sentence: string;
  readonly reports: readonly string[];
}

/**
 * A run with `profile` in its plan; of `expected` reports that are whole `gathered` lie in
 * `output`.
 */
export interface ProfiledRun {
  readonly run: string;
  readonly output: string;
  readonly state: "idle" | "recording" | "writing" | "gathering" | "gathered" | "failed";
  readonly sentence: string;
  readonly expected: number;
  readonly gathered: number;
  readonly workers: readonly ProfiledWorker[];
}

/** All of them that are remembered, the newest first. */
export interface ProfiledRuns {
  readonly runs: readonly ProfiledRun[];
}

/**
 * Begins a recording of these workers, [] for all, for `seconds` unless that is 0; one that goes
 * on ends so too.
 */
export interface Record {
  readonly run: string;
  readonly workers?: readonly string[];
  readonly seconds?: number;
}

/** The recordings of these workers, [] for all. */
export interface Recording {
  readonly run: string;
  readonly workers?: readonly string[];
}

/** How many workers were asked; what comes of it is told by `changed`. */
export interface Asked {
  readonly workers: number;
}

/**
 * Fetches what is whole.  `finish`: ends all recordings, waits for their reports, and then ends
 * the program.
 */
export interface Gather {
  readonly run: string;
  readonly finish?: boolean;
}

/** The folder with the manifest, and the reports in it by their absolute paths. */
export interface Gathered {
  readonly folder: string;
  readonly reports: readonly string[];
}

/**
 * Asks which classes of the actors of a cluster and of the last runs fit shell patterns; "" is no
 * cluster.
 */
export interface WorkersOf {
  readonly cluster: string;
  readonly patterns: readonly string[];
}

/**
 * A class of actors that live or that were seen lately; `matched_by` is the first pattern that
 * fits, or "".
 */
export interface Seen {
  readonly name: string;
  readonly running: number;
  readonly matched_by: string;
}

/** The classes, those that fit first. */
export interface Preview {
  readonly classes: readonly Seen[];
}
