// Printed from pybackend/eagleray/debug/workers/messages.py by `npm run messages`; do not edit.
import { notification, request, type Nothing } from "../../common/wire";
import type { StopCounts } from "../../clusters/messages";

export const WATCH = request<Watch, Nothing>("eagleray/workers/watch");
export const REFRESH = request<Nothing, Snapshot>("eagleray/workers/refresh");
export const ALL = request<AllWorkersOf, AllWorkers>("eagleray/workers/all");
export const SEARCH_LOGS = request<SearchLogs, LogMatches>("eagleray/workers/searchLogs");
export const OPEN_LOG = request<OpenLog, LogEnd>("eagleray/workers/openLog");
export const FOLLOW_LOG = request<FollowLog, Nothing>("eagleray/workers/followLog");
export const STOP_FOLLOWING = request<StopFollowing, Nothing>("eagleray/workers/stopFollowing");
export const CHANGED = notification<Snapshot>("eagleray/workers/changed");
export const LOG_TEXT = notification<LogText>("eagleray/workers/logText");

/** All paused and held workers of all clusters, grouped. */
export interface Snapshot {
  readonly groups: readonly PausedGroup[];
  readonly stops: StopCounts;
}

/** Whether the panel is visible, which decides how often clusters are polled. */
export interface Watch {
  readonly visible: boolean;
}

/** Requests all workers of one cluster. */
export interface AllWorkersOf {
  readonly cluster: string;
}

/** All live workers of one cluster, sorted by class, rank and name, and its live nodes, the head first. */
export interface AllWorkers {
  readonly workers: readonly LiveWorker[];
  readonly nodes: readonly LiveNode[];
}

/** Requests the end of a worker's log: at most `lines` lines. */
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

/** Further text of a followed log, without terminal escapes and secrets; `ended` with a follower's last. */
export interface LogText {
  readonly follow_id: string;
  readonly text: string;
  readonly ended: boolean;
}

/** Searches the logs of some workers, or of all workers of the cluster if `worker_ids` is empty. */
export interface SearchLogs {
  readonly cluster: string;
  readonly worker_ids: readonly string[];
  readonly pattern: string;
  readonly regex: boolean;
  readonly match_case: boolean;
}

/** A line of a file by the worker's path; `local` is the user's own file, or "". */
export interface Location {
  readonly path: string;
  readonly line: number;
  readonly function: string;
  readonly local: string;
}

/**
 * A worker that waits in breakpoint() or in post-mortem, or that a debug adapter is connected to.
 *
 * `state`: "paused" waits without a debugger, or an adapter holds it and no editor has shown it yet; "held": an adapter
 * holds it and no editor is attached; "debugging": an editor shows its stop; "running": it runs while an editor or
 * adapter is connected; "gone": Ray still lists it, but its node is dead, so it can't be debugged. `port` is its debug
 * port, 0 if Ray no longer reports one.  `children` are the workers that only relay its error. `exception` is
 * "ValueError: …" of a post-mortem, "" if unknown.  `held_on` is the other machine with the same home whose adapter is
 * connected to it, where alone it can be debugged; "" for this machine.  `is_held`: an adapter holds it, whatever its
 * state.  `is_attached`: an editor debugs it, also while it runs.  `waiting_s` counts from when it began to wait, None
 * if that is unknown; `held_s` from when an adapter began to hold it without an editor, 0.0 if none does.  `location`
 * is the breakpoint() call's, also once a debugger shows the line after it. `stop` is the number of the stop in its
 * debug adapter, which a later one at the same line doesn't have; 0 without one.  Joins `WorkerRow` of Ray with
 * `WorkerState` of the adapter; `RunWorkerStatus` belongs to a run, also without Ray.
 */
export interface PausedWorker {
  readonly cluster: string;
  readonly worker_id: string;
  readonly name: string;
  readonly rank: number | null;
  readonly node_id: string;
  readonly node_ip: string;
  readonly pid: number;
  readonly session: string;
  readonly title: string;
  readonly port: number;
  readonly kind: "breakpoint" | "post-mortem" | "unknown";
  readonly state: "paused" | "held" | "debugging" | "running" | "gone";
  readonly waiting_s: number | null;
  readonly location: Location | null;
  readonly exception: string;
  readonly threads: number;
  readonly attempt: number;
  readonly children: readonly PausedWorker[];
  readonly held_on: string;
  readonly is_held: boolean;
  readonly is_attached: boolean;
  readonly held_s: number;
  readonly stop: number;
}

/**
 * Workers of one cluster that run the same thing, or that failed in it.
 *
 * `title` is "PolicyWorker.train", the class alone while the method is not known, or "Driver".  `waiting` says which
 * ranks wait for them, "Ranks 0 and 2 wait for rank 1", and `sentence` where; both are "" if that isn't known.
 */
export interface PausedGroup {
  readonly cluster: string;
  readonly title: string;
  readonly workers: readonly PausedWorker[];
  readonly post_mortem: boolean;
  readonly waiting: string;
  readonly sentence: string;
}

/**
 * A live worker of a cluster, paused or not, or an actor without a worker (`worker_id` "" and `pid` 0 then).
 *
 * `state` "pending" is an actor that waits for its worker, "idle" a worker that runs nothing; a debugged worker has the
 * state of its row among the paused ones.  Joins `WorkerRow` and `TaskRow` of Ray with `WorkerState` of the adapter.
 * `running` names what it runs now.
 */
export interface LiveWorker {
  readonly cluster: string;
  readonly worker_id: string;
  readonly name: string;
  readonly rank: number | null;
  readonly node_id: string;
  readonly node_ip: string;
  readonly pid: number;
  readonly kind: "actor" | "task" | "driver" | "idle";
  readonly class_name: string;
  readonly state: "running" | "idle" | "pending" | "restarting" | "paused" | "held" | "debugging";
  readonly running: string;
  readonly job_id: string;
  readonly actor_id: string;
}

/** A live node of a cluster; `name` is its host name, "" if Ray doesn't know it. */
export interface LiveNode {
  readonly node_id: string;
  readonly ip: string;
  readonly name: string;
  readonly is_head: boolean;
}

/** The end of a log, without terminal escapes and secrets; `truncated` if the log holds more. */
export interface LogEnd {
  readonly title: string;
  readonly text: string;
  readonly truncated: boolean;
}

/** A matching line of a log; `line_number` counts from 1 within the text that was read. */
export interface LogMatch {
  readonly worker_id: string;
  readonly name: string;
  readonly stream: "out" | "err";
  readonly line_number: number;
  readonly text: string;
}

/**
 * All matches, in the order of the workers; `unread` names the workers whose log couldn't be read, and why.
 *
 * The last `lines` lines of each log were searched, and line numbers count from the first of these.
 */
export interface LogMatches {
  readonly matches: readonly LogMatch[];
  readonly truncated: boolean;
  readonly unread: readonly string[];
  readonly lines: number;
}
