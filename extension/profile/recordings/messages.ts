// Printed from pybackend/eagleray/profile/recordings/messages.py by `npm run messages`; do not edit.
import { notification, request, type Nothing } from "../../common/wire";

export const LIST = request<Nothing, ProfiledRuns>("eagleray/profiling/list");
export const CHANGED = notification<ProfiledRuns>("eagleray/profiling/changed");
export const RECORD = request<StartRecording, RecordingResult>("eagleray/profiling/record");
export const STOP = request<StopRecording, RecordingResult>("eagleray/profiling/stop");
export const GATHER = request<GatherReports, GatheredReports>("eagleray/profiling/gather");
export const WORKERS = request<PreviewRequest, Preview>("eagleray/profiling/workers");

/**
 * A worker of a profiled run; `sentence` is the last line of its log, or why it runs without nsys ("missing").
 *
 * `reports` are the absolute paths of its collected reports.  `WorkerProfile`, which is stored, has more than a view
 * shows.
 */
export interface ProfiledWorker {
  readonly run: string;
  readonly worker_id: string;
  readonly name: string;
  readonly node: string;
  readonly rank: number | null;
  readonly state: "profiled" | "recording" | "writing" | "gathered" | "missing";
  readonly sentence: string;
  readonly reports: readonly string[];
}

/** A run with a profile in its plan; `gathered` of `expected` complete reports are in the folder `output`. */
export interface ProfiledRun {
  readonly run: string;
  readonly output: string;
  readonly state: "idle" | "recording" | "writing" | "gathering" | "gathered" | "failed";
  readonly sentence: string;
  readonly expected: number;
  readonly gathered: number;
  readonly workers: readonly ProfiledWorker[];
}

/** All profiled runs, the newest first. */
export interface ProfiledRuns {
  readonly runs: readonly ProfiledRun[];
}

/** Starts a recording of these workers ([]: all), for `seconds` unless that is 0; also limits one that is running. */
export interface StartRecording {
  readonly run: string;
  readonly workers?: readonly string[];
  readonly seconds?: number;
}

/** Stops the recordings of these workers ([]: all). */
export interface StopRecording {
  readonly run: string;
  readonly workers?: readonly string[];
}

/** The number of workers that were asked; `changed` reports the results. */
export interface RecordingResult {
  readonly workers: number;
}

/** Gathers complete reports.  `finish`: stops all recordings, waits for their reports, then ends the program. */
export interface GatherReports {
  readonly run: string;
  readonly finish?: boolean;
}

/** The folder with the manifest, and the absolute paths of the reports in it. */
export interface GatheredReports {
  readonly folder: string;
  readonly reports: readonly string[];
}

/** Requests the classes of a cluster ("" for none) and of recent runs, matched with shell patterns. */
export interface PreviewRequest {
  readonly cluster: string;
  readonly patterns: readonly string[];
}

/** The classes, matching ones first. */
export interface Preview {
  readonly classes: readonly ClassMatch[];
}

/** A class or a named actor; `running` counts the live ones, `matched_by` is the matching pattern or "". */
export interface ClassMatch {
  readonly name: string;
  readonly running: number;
  readonly matched_by: string;
}
