// Printed from pybackend/eagleray/features/workers/messages.py by `npm run messages`; do not edit.
import { notification, request, type Nothing } from "../../common/wire";

export const WATCH = request<Watch, Nothing>("eagleray/workers/watch");
export const REFRESH = request<Nothing, Snapshot>("eagleray/workers/refresh");
export const ALL = request<AllWorkersOf, AllWorkers>("eagleray/workers/all");
export const SEARCH_LOGS = request<SearchLogs, LogMatches>("eagleray/workers/searchLogs");
export const OPEN_LOG = request<OpenLog, LogText>("eagleray/workers/openLog");
export const FOLLOW_LOG = request<FollowLog, Nothing>("eagleray/workers/followLog");
export const STOP_FOLLOWING = request<StopFollowing, Nothing>("eagleray/workers/stopFollowing");
export const CHANGED = notification<Snapshot>("eagleray/workers/changed");
export const LOG_TEXT = notification<LogText>("eagleray/workers/logText");

/**
 * A worker that waits in breakpoint() or in post-mortem, or that we hold.
 *
 * `waiting_s` is how long *we* have seen it wait.  `state`: "paused" nobody is attached; "held"
 * our
 * adapter holds its stop and no editor looks at it; "attached" an editor looks at it; "running" an
 * editor or our adapter is connected and the worker runs; "gone" Ray lists it still, but its node
 * is dead:
 * there is nothing to attach to.
 * `exception` is "ValueError: …" of a post-mortem where it is known, else "".  `held_on`: the
 * other machine
 * with the same home whose adapter is connected to it, where alone it can be debugged; "" for this
 * one.
 */
export interface PausedWorkerRow {
  readonly cluster: string;
  readonly worker_id: string;
  readonly name: string;
  readonly rank: number | null;
  readonly node_id: string;
  readonly node_ip: string;
  readonly pid: number;
  readonly kind: "breakpoint" | "post-mortem" | "unknown";
  readonly state: "paused" | "held" | "attached" | "running" | "gone";
  readonly waiting_s: number;
  readonly location: Location | null;
  readonly exception: string;
  readonly threads: number;
  readonly attempt: number;
  readonly children: readonly PausedWorkerRow[];
  readonly held_on: string;
}

/** Paused workers that run the same thing: `title` is "PolicyWorker.train". */
export interface Group {
  readonly cluster: string;
  readonly title: string;
  readonly workers: readonly PausedWorkerRow[];
}

/** All paused and held workers of all clusters, grouped. */
export interface Snapshot {
  readonly groups: readonly Group[];
  readonly paused: number;
  readonly held: number;
}

/** How closely to watch: the panel is visible or not. */
export interface Watch {
  readonly visible: boolean;
}

/** Asks for all workers of one cluster. */
export interface AllWorkersOf {
  readonly cluster: string;
}

/**
 * A live worker of a cluster, paused or not: an actor, a task's worker or a driver.
 *
 * `state` in words of Ray ("ALIVE", "RUNNING", "PENDING_CREATION", "idle"); `running` names what
 * it runs now.
 */
export interface Worker {
  readonly cluster: string;
  readonly worker_id: string;
  readonly name: string;
  readonly kind: "actor" | "task" | "driver" | "idle";
  readonly class_name: string;
  readonly rank: number | null;
  readonly state: string;
  readonly running: string;
  readonly node_id: string;
  readonly node_ip: string;
  readonly pid: number;
  readonly job_id: string;
  readonly actor_id: string;
  readonly paused: boolean;
}

/** All live workers of one cluster, sorted by class, rank and name. */
export interface AllWorkers {
  readonly workers: readonly Worker[];
}

/** The end of a worker's log: at most `lines` lines. */
export interface OpenLog {
  readonly cluster: string;
  readonly worker_id: string;
  readonly stream: "out" | "err";
  readonly lines?: number;
}

/** Follows a worker's log under an id that the editor chose. */
export interface FollowLog {
  readonly follow_id: string;
  readonly cluster: string;
  readonly worker_id: string;
  readonly stream: "out" | "err";
}

/** Ends a follower. */
export interface StopFollowing {
  readonly follow_id: string;
}

/**
 * Text of a log, without terminal escapes and with secrets redacted; `ended` with a follower's
 * last.
 */
export interface LogText {
  readonly follow_id: string;
  readonly title: string;
  readonly text: string;
  readonly truncated: boolean;
  readonly ended: boolean;
}

/** Searches the logs of some workers (all of the cluster when `worker_ids` is empty). */
export interface SearchLogs {
  readonly cluster: string;
  readonly worker_ids: readonly string[];
  readonly pattern: string;
  readonly regex: boolean;
  readonly match_case: boolean;
}

/** One line of a log that fits; `line_number` counts from 1 within the text that was read. */
export interface LogMatch {
  readonly worker_id: string;
  readonly name: string;
  readonly stream: "out" | "err";
  readonly line_number: number;
  readonly text: string;
}

/**
 * All matches; `unread` names the workers whose log could not be read, and why.
 *
 * The last `lines` lines of each log were searched, and line numbers count from the first of
 * these.
 */
export interface LogMatches {
  readonly matches: readonly LogMatch[];
  readonly truncated: boolean;
  readonly unread: readonly string[];
  readonly lines: number;
}

/** A line of a file by the worker's path; `local` is the user's own file, or "". */
export interface Location {
  readonly path: string;
  readonly line: number;
  readonly function: string;
  readonly local: string;
}
