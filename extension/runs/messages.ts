// Printed from pybackend/eagleray/runs/messages.py by `npm run messages`; do not edit.
import { notification, request, type Nothing } from "../common/wire";

export const LIST = request<Nothing, StoredRuns>("eagleray/runs/list");
export const CHANGED = notification<StoredRuns>("eagleray/runs/changed");
export const START = request<Start, RunRef>("eagleray/runs/start");
export const STOP = request<Stop, Nothing>("eagleray/runs/stop");
export const RESTART = request<Restart, RunRef>("eagleray/runs/restart");
export const PYTHONS = request<Nothing, Pythons>("eagleray/runs/pythons");
export const INTERPRETER = request<InterpreterRef, InterpreterFacts>("eagleray/runs/interpreter");
export const FORGET = request<RunRef, Nothing>("eagleray/runs/forget");
export const COMMAND = request<RunRef, RunCommand>("eagleray/runs/command");
export const BREAKPOINTS = request<SetBreakpoints, Nothing>("eagleray/runs/breakpoints");
export const PAUSE = request<PauseWorker, Nothing>("eagleray/runs/pause");
export const OUTPUT = request<OutputFrom, OutputPiece>("eagleray/runs/output");

/**
 * A breakpoint on a line; `condition`, `hit` ("3", ">2" as debugpy understands it) and `log` are DAP's, "" for none.
 */
export interface LineBreakpoint {
  readonly line: number;
  readonly condition?: string;
  readonly hit?: string;
  readonly log?: string;
}

/** The breakpoints of one file, whose path is absolute where the run was started. */
export interface Breakpoint {
  readonly path: string;
  readonly lines: readonly LineBreakpoint[];
}

/** The inference server that a run is; `url` is "" before it listens, `reason` why it isn't ready. */
export interface RunServer {
  readonly name: string;
  readonly state: "starting" | "ready" | "unhealthy" | "stopping" | "stopped" | "failed";
  readonly url: string;
  readonly model: string;
  readonly reason: string;
  readonly warning: string;
}

/**
 * `arguments`: the program's; `started` and `ended` (0: not yet) are seconds since 1970; `reason`: why it failed;
 * `output`: the file of its output; `confirm_stop`: asked before a stop; `picture`: the last that was taken because
 * nothing was printed; `server`: only of an inference server; `is_agent`: it runs one item of an agent.
 */
export interface Run {
  readonly cwd: string;
  readonly cluster: string;
  readonly python: string;
  readonly workspace: string;
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  readonly kind: "program" | "module" | "script" | "command" | "sbatch" | "job" | "remote";
  readonly state: "starting" | "running" | "paused" | "stopping" | "exited" | "failed" | "cancelled" | "unwatched" | "unknown";
  readonly started: number;
  readonly ended: number;
  readonly code: number | null;
  readonly command: string;
  readonly preset: string;
  readonly workers: readonly RunWorkerStatus[];
  readonly lines: readonly BreakpointStatus[];
  readonly note: string;
  readonly reason: string;
  readonly tail: string;
  readonly output: string;
  readonly can_restart: boolean;
  readonly confirm_stop: string;
  readonly picture: RunPicture | null;
  readonly server: RunServer | null;
  readonly is_agent: boolean;
}

/** All stored runs, the newest first. */
export interface StoredRuns {
  readonly runs: readonly Run[];
}

/**
 * `plan` is the id of a prepared plan, `python` "" its interpreter; `confirmed`: yes to `Proposal.confirm`; `anyway`:
 * also with a Python that has no Ray.
 */
export interface Start {
  readonly plan: string;
  readonly python?: string;
  readonly confirmed?: boolean;
  readonly anyway?: boolean;
}

/** A run by its id. */
export interface RunRef {
  readonly id: string;
}

/** `confirmed`: the user said yes to `Run.confirm_stop`. */
export interface Stop {
  readonly id: string;
  readonly confirmed?: boolean;
}

/**
 * `breakpoints` null keeps the run's, `python` "" its interpreter; see `Start`.
 *
 * `server_env`: the variables of the chosen server, in place of an earlier server's; null keeps them.
 */
export interface Restart {
  readonly id: string;
  readonly breakpoints?: readonly Breakpoint[] | null;
  readonly confirmed?: boolean;
  readonly anyway?: boolean;
  readonly python?: string;
  readonly server_env?: Readonly<Record<string, string>> | null;
}

/** All breakpoints of a workspace, for its live runs. */
export interface SetBreakpoints {
  readonly workspace: string;
  readonly breakpoints: readonly Breakpoint[];
}

/** A worker of a run that is to stop where it is. */
export interface PauseWorker {
  readonly run: string;
  readonly worker_id: string;
}

/** The exact command of a run, with its secrets: for the clipboard, never for a view. */
export interface RunCommand {
  readonly text: string;
}

/** From a piece's `next` on; a negative `offset` requests the end of the current output. */
export interface OutputFrom {
  readonly id: string;
  readonly offset?: number;
}

/** `text` is safe for a terminal; `skipped` bytes before it were left out. */
export interface OutputPiece {
  readonly text: string;
  readonly next: number;
  readonly skipped: number;
  readonly is_over: boolean;
}

/** The interpreters of the user's own clusters on this machine. */
export interface Pythons {
  readonly paths: readonly string[];
}

/** A Python by its path or name, "" the first one on the PATH; `cwd` and `env` belong to the run. */
export interface InterpreterRef {
  readonly python: string;
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * The plan of a recording with nsys.
 *
 * `workers` are shell patterns; `ranks` None means every rank.  "steps": where the program itself calls
 * cudaProfilerApi; `steps` ("3:5") is passed to its framework.  "seconds": that many from each worker's start. "on-
 * demand": when the user requests it.  `options` are further options of nsys, "" for one without a value. `nsys` is the
 * program on the nodes, "" for the one on their path; `output` is the local folder for reports.
 */
export interface ProfilePlan {
  readonly workers: readonly string[];
  readonly ranks?: readonly number[] | null;
  readonly when?: "always" | "steps" | "seconds" | "on-demand";
  readonly steps?: string;
  readonly seconds?: number;
  readonly trace?: string;
  readonly options?: Readonly<Record<string, string>>;
  readonly nsys?: string;
  readonly output?: string;
}

/** A Python; `ray` is the version of its package, "" without it, "?" if that is installed without its metadata. */
export interface InterpreterFacts {
  readonly path: string;
  readonly version: string;
  readonly ray: string;
}

/**
 * `path`: a file or module; "": `args` is the whole command.  `kind` "": detected, or a Ray job with a `cluster`.
 *
 * `preset` "": the one that fits; "none": none.  `answers` are for `Proposal.questions`, by id.  `server_env`: the
 * variables of the chosen inference server, which `env` overrides; None for a run that gets none.  A run that starts
 * elsewhere gets none either, since others can read what is sent there.
 */
export interface RunRequest {
  readonly cwd: string;
  readonly cluster?: string;
  readonly python?: string;
  readonly workspace?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly breakpoints?: readonly Breakpoint[];
  readonly preset?: string;
  readonly overrides?: readonly string[];
  readonly profile?: ProfilePlan | null;
  readonly workers?: readonly string[];
  readonly ranks?: readonly number[] | null;
  readonly post_mortem?: boolean;
  readonly children?: boolean;
  readonly watch_minutes?: number;
  readonly path: string;
  readonly args: readonly string[];
  readonly kind?: "" | "program" | "module" | "script" | "command" | "sbatch" | "job" | "remote";
  readonly server_env?: Readonly<Record<string, string>> | null;
  readonly answers?: Readonly<Record<string, string>>;
}

/**
 * A picture of the stacks of a run, taken at `taken_at` because nothing was printed: its file, and its verdict.
 *
 * `is_stuck`: nothing was printed since.
 */
export interface RunPicture {
  readonly path: string;
  readonly taken_at: number;
  readonly kind: string;
  readonly sentence: string;
  readonly is_stuck: boolean;
}

/**
 * A process of the run, as the adapter reports it; `path:line` is its stop location, "" and 0 for none.
 *
 * `stop` is the number of its stop: a later one has another, also at the same line.  It is stored, so that it has the
 * phases that users see, in place of the adapter's own states in `ProcessInfo`, `RunWorkerState` and `WorkerState`.
 */
export interface RunWorkerStatus {
  readonly worker_id: string;
  readonly pid: number;
  readonly kind: "driver" | "worker" | "child";
  readonly name: string;
  readonly state: "starting" | "running" | "paused" | "debugging" | "held";
  readonly files: readonly string[];
  readonly rank: string;
  readonly path: string;
  readonly line: number;
  readonly python: string;
  readonly stop: number;
}

/** The status of a breakpoint, as the adapter reports it. */
export interface BreakpointStatus {
  readonly path: string;
  readonly line: number;
  readonly state: "pending" | "verified" | "moved" | "unreachable";
  readonly moved_to: number;
  readonly workers: number;
  readonly reason: string;
}
