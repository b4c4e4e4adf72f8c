// Printed from pybackend/eagleray/features/profiling/messages.py by `npm run messages`; do not edit.
import { notification, request, type Nothing } from "../../common/wire";

export const LIST = request<Nothing, ProfiledRuns>("eagleray/profiling/list");
export const CHANGED = notification<ProfiledRuns>("eagleray/profiling/changed");
export const RECORD = request<Record, Asked>("eagleray/profiling/record");
export const STOP = request<Recording, Asked>("eagleray/profiling/stop");
export const GATHER = request<Gather, Gathered>("eagleray/profiling/gather");
export const WORKERS = request<WorkersOf, Preview>("eagleray/profiling/workers");

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
