// Printed from pybackend/eagleray/features/runs/messages.py by `npm run messages`; do not edit.
import { notification, request, type Nothing } from "../../common/wire";

export const LIST = request<Nothing, Runs>("eagleray/runs/list");
export const CHANGED = notification<Runs>("eagleray/runs/changed");
export const START = request<Start, RunRef>("eagleray/runs/start");
export const STOP = request<Stop, Nothing>("eagleray/runs/stop");
export const RESTART = request<Restart, RunRef>("eagleray/runs/restart");
export const PYTHONS = request<Nothing, Pythons>("eagleray/runs/pythons");
export const FORGET = request<RunRef, Nothing>("eagleray/runs/forget");
export const COMMAND = request<RunRef, Command>("eagleray/runs/command");
export const BREAKPOINTS = request<SetBreakpoints, Nothing>("eagleray/runs/breakpoints");
export const PAUSE = request<Pause, Nothing>("eagleray/runs/pause");
export const OUTPUT = request<OutputFrom, OutputPiece>("eagleray/runs/output");

/** A breakpoint on a line; `condition`, `hit` (count) and `log` (point) are "" for none. */
export interface Line {
  readonly line: number;
  readonly condition: string;
  readonly hit: string;
  readonly log: string;
}

/** The breakpoints of one file, by its absolute path here. */
export interface Breakpoint {
  readonly path: string;
  readonly lines: readonly Line[];
}

/** What nsys records, see `ProfilePlan`; `workers` are shell patterns. */
export interface Profile {
  readonly workers: readonly string[];
  readonly ranks: readonly number[] | null;
  readonly when: "always" | "steps" | "seconds" | "on-demand";
  readonly steps: string;
  readonly seconds: number;
  readonly trace: string;
  readonly options: Readonly<Record<string, string>>;
  readonly nsys: string;
  readonly output: string;
}

/** What is started and how, see `RunPlan`; made by `prepare`, given to `start` as it is. */
export interface Plan {
  readonly kind: "program" | "module" | "script" | "command" | "sbatch" | "job";
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cluster: string;
  readonly breakpoints: readonly Breakpoint[];
  readonly workers: readonly string[];
  readonly ranks: readonly number[] | null;
  readonly post_mortem: boolean;
  readonly children: boolean;
  readonly everywhere: boolean;
  readonly preset: string;
  readonly overrides: readonly string[];
  readonly workspace: string;
  readonly copy_of: string;
  readonly copy_text: string;
  readonly inner_copies: readonly (readonly string[])[];
  readonly profile: Profile | null;
  readonly python: string;
}

/** A process of a run, by the ids of `debugging/attach`; `path:line` is where it is paused. */
export interface RunWorker {
  readonly cluster: string;
  readonly worker_id: string;
  readonly pid: number;
  readonly kind: "driver" | "worker" | "child";
  readonly name: string;
  readonly state: "free" | "waiting" | "running" | "stopped";
  readonly rank: string;
  readonly path: string;
  readonly line: number;
  readonly python: string;
}

/** The state of a breakpoint; `workers` counts those that have it, `reason` is a sentence. */
export interface RunLine {
  readonly path: string;
  readonly line: number;
  readonly state: "pending" | "verified" | "moved" | "unreachable";
  readonly moved_to: number;
  readonly workers: number;
  readonly reason: string;
}

/**
 * `started` and `ended` (0: not yet) are seconds since 1970; "unwatched": it has no supervisor;
 * `reason`: why it failed; `output`: the file of its output; `confirm_stop`: asked before a stop.
 */
export interface Run {
  readonly id: string;
  readonly name: string;
  readonly kind: "program" | "module" | "script" | "command" | "sbatch" | "job";
  readonly state: "starting" | "running" | "stopped_at" | "stopping" | "stopped" | "ended" | "failed" | "unwatched";
  readonly started: number;
  readonly ended: number;
  readonly code: number | null;
  readonly cluster: string;
  readonly command: string;
  readonly cwd: string;
  readonly workspace: string;
  readonly preset: string;
  readonly workers: readonly RunWorker[];
  readonly lines: readonly RunLine[];
  readonly note: string;
  readonly reason: string;
  readonly tail: string;
  readonly output: string;
  readonly python: string;
  readonly can_restart: boolean;
  readonly confirm_stop: string;
}

/** All runs that are remembered, the newest first. */
export interface Runs {
  readonly runs: readonly Run[];
}

/** `confirmed`: yes to `Proposal.confirm`; `anyway`: also with a Python that has no Ray. */
export interface Start {
  readonly plan: Plan;
  readonly confirmed?: boolean;
  readonly anyway?: boolean;
}

/** A run by its id. */
export interface RunRef {
  readonly id: string;
}

/** `confirmed`: the person said yes to `Run.confirm_stop`. */
export interface Stop {
  readonly id: string;
  readonly confirmed?: boolean;
}

/** `breakpoints` null keeps those of the run, `python` "" its interpreter; see `Start`. */
export interface Restart {
  readonly id: string;
  readonly breakpoints?: readonly Breakpoint[] | null;
  readonly confirmed?: boolean;
  readonly anyway?: boolean;
  readonly python?: string;
}

/** All breakpoints of a workspace, for its live runs. */
export interface SetBreakpoints {
  readonly workspace: string;
  readonly breakpoints: readonly Breakpoint[];
}

/** A worker of a run that is to stop where it is. */
export interface Pause {
  readonly run: string;
  readonly worker_id: string;
}

/** The exact command of a run, with its secrets: for the clipboard, never for a view. */
export interface Command {
  readonly text: string;
}

/** From a piece's `next` on; a negative `offset` asks for the end of what is there. */
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
