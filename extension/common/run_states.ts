/** What the state of a run means, for all who offer runs. */

import type { Run } from "../features/runs/messages";

/** Whether the program of a run goes on. */
export function isLive({ state }: Pick<Run, "state">): boolean {
  return state !== "stopped" && state !== "ended" && state !== "failed";
}
