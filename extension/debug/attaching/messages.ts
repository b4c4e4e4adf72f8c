// Printed from pybackend/eagleray/debug/attaching/messages.py by `npm run messages`; do not edit.
import { notification, request, type Nothing } from "../../common/wire";

export const ATTACH = request<Attach, Attachment>("eagleray/debugging/attach");
export const CONTINUE = request<Workers, Outcome>("eagleray/debugging/continue");
export const CONTINUE_OTHERS = request<Workers, Outcome>("eagleray/debugging/continueOthers");
export const RELEASE = request<Workers, Outcome>("eagleray/debugging/release");
export const IGNORE = request<Workers, Outcome>("eagleray/debugging/ignore");
export const IGNORED = request<Nothing, IgnoredBreakpoints>("eagleray/debugging/ignored");
export const FORGET_IGNORED = request<IgnoredBreakpoint, Nothing>("eagleray/debugging/forgetIgnored");
export const HELD_LONG = notification<HeldLong>("eagleray/debugging/heldLong");

/**
 * `worker` is a worker id or an unambiguous beginning of one, or a name of the list.
 *
 * `unless_taken`: a worker that is attached already stays as it is, by the error `worker-taken`.
 */
export interface Attach {
  readonly cluster: string;
  readonly worker: string;
  readonly workspace_folders: readonly string[];
  readonly unless_taken?: boolean;
}

/** Some workers of one cluster, by worker id. */
export interface Workers {
  readonly cluster: string;
  readonly worker_ids: readonly string[];
}

/** One worker for which an action failed, with the sentence of the catalogue. */
export interface Failure {
  readonly worker_id: string;
  readonly name: string;
  readonly code: string;
  readonly message: string;
  readonly next_step: string;
}

/**
 * The result of an action on several workers: how many succeeded, each failure, and what is ignored now.
 *
 * A worker that had already resumed counts in neither.
 */
export interface Outcome {
  readonly done: number;
  readonly failures: readonly Failure[];
  readonly ignored: readonly IgnoredBreakpoint[];
}

/** All ignored breakpoints, of which each can be removed. */
export interface IgnoredBreakpoints {
  readonly ignored: readonly IgnoredBreakpoint[];
}

/**
 * An attached worker: the Unix socket for any DAP client, and its stop location ("" and 0 if it runs).
 *
 * Scripts read it: `WorkerState` lacks the local path, `RunWorkerStatus` the socket.
 */
export interface Attachment {
  readonly socket: string;
  readonly cluster: string;
  readonly worker_id: string;
  readonly name: string;
  readonly rank: number | null;
  readonly path: string;
  readonly line: number;
  readonly local: string;
}

/** A worker that has been held for `held_s` seconds; sent once per hold. */
export interface HeldLong {
  readonly cluster: string;
  readonly worker_id: string;
  readonly name: string;
  readonly held_s: number;
}

/**
 * A breakpoint() that no worker of the cluster's session stops at any more.
 *
 * `line` is the line of the stop after attaching, `listed_line` comes from the list of paused workers, 0 if unknown.
 */
export interface IgnoredBreakpoint {
  readonly cluster: string;
  readonly session: string;
  readonly path: string;
  readonly line: number;
  readonly listed_line: number;
}
