/** Which stop of a run comes to the front next. */

import { targetKey, type Target } from "../debugging/model";
import type { Run, Runs } from "./messages";
import { isLive } from "./model";

/** A stopped worker, and its run. */
export interface StoppedWorker extends Target {
  readonly run: Run;
}

/** What this window has done and shows; workers by their keys. */
export interface NextStopInput {
  /** Stops that came to the front before, or that the user left. */
  readonly seen: ReadonlySet<string>;
  /** Workers that the user asked to pause. */
  readonly wanted: ReadonlySet<string>;
  /** Those that have a session. */
  readonly attached: ReadonlySet<string>;
  /** Some session is stopped. */
  readonly isStopped: boolean;
  isOurs(run: Run): boolean;
  /** Whether stops come to the front without a request. */
  readonly isAutomatic: boolean;
}

/** The stopped workers, those of the newest run first. */
export function stoppedIn({ runs }: Runs): StoppedWorker[] {
  // The workers of a run that is being stopped are about to end.
  const live = runs.filter((run) => isLive(run) && run.state !== "stopping");
  return live.flatMap((run) =>
    run.workers
      .filter((worker) => worker.state === "stopped")
      .map(({ cluster, worker_id: worker }) => ({ run, cluster, worker })),
  );
}

/**
 * The worker to attach to:
 *
 * 1. One that the user asked to pause, whatever they are looking at.
 * 2. None while a session is stopped, or when stops don't come to the front automatically.
 * 3. Else the first of a run of this window that has no session and was not in front before.
 */
export function nextStop(
  stopped: readonly StoppedWorker[],
  looking: NextStopInput,
): StoppedWorker | undefined {
  const free = stopped.filter((worker) => !looking.attached.has(targetKey(worker)));
  const wanted = free.find((worker) => looking.wanted.has(targetKey(worker)));
  if (wanted !== undefined || looking.isStopped || !looking.isAutomatic) {
    return wanted;
  }
  return free.find((worker) => looking.isOurs(worker.run) && !looking.seen.has(targetKey(worker)));
}
