/** Tells apart the states of runs and of their workers. */

import type { Run, RunWorkerStatus } from "./messages";

const OVER: ReadonlySet<Run["state"]> = new Set(["exited", "failed", "cancelled", "unknown"]);

/** Whether the program of a run is still running. */
export function isLive({ state }: Pick<Run, "state">): boolean {
  return !OVER.has(state);
}

/** Whether a worker waits at a breakpoint or an error, in an editor or not. */
export function isAtStop({ state }: Pick<RunWorkerStatus, "state">): boolean {
  return state === "paused" || state === "debugging" || state === "held";
}
