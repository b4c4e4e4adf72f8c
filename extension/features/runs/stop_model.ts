/** Which stop of a run comes to the front next. */

import type { Run, Runs } from "./messages";
import { isLive } from "./model";

/** A worker by the two names that attaching needs. */
export interface Target {
  readonly cluster: string;
  readonly worker: string;
}

/** A worker that stands, and its run. */
export interface Stop extends Target {
  readonly run: Run;
}

/** What this window did and looks at; workers by their keys. */
export interface Looking {
  /** Stops that came to the front already, or were left before. */
  readonly seen: ReadonlySet<string>;
  /** Workers that the person asked to pause. */
  readonly wanted: ReadonlySet<string>;
  /** Those that have a session. */
  readonly attached: ReadonlySet<string>;
  /** The person stands at a line. */
  readonly isStanding: boolean;
  isOurs(run: Run): boolean;
  /** Whether stops come to the front without having been asked for. */
  readonly byItself: boolean;
}

export function stopKey({ cluster, worker }: Target): string {
  return `${cluster} ${worker}`;
}

/** The workers that stand, those of the newest run first. */
export function stoppedIn({ runs }: Runs): Stop[] {
  // Those of a run that is being stopped are on their way out.
  const live = runs.filter((run) => isLive(run) && run.state !== "stopping");
  return live.flatMap((run) =>
    run.workers
      .filter((worker) => worker.state === "stopped")
      .map(({ cluster, worker_id: worker }) => ({ run, cluster, worker })),
  );
}

/**
 * 1. One that the person asked to pause, wherever they look.
 * 2. None while they stand at a line, or when they want none by itself.
 * 3. Else the first of a run of this window that has no session and was not in front before.
 */
export function nextStop(stopped: readonly Stop[], looking: Looking): Stop | undefined {
  const free = stopped.filter((one) => !looking.attached.has(stopKey(one)));
  const wanted = free.find((one) => looking.wanted.has(stopKey(one)));
  if (wanted !== undefined || looking.isStanding || !looking.byItself) {
    return wanted;
  }
  return free.find((one) => looking.isOurs(one.run) && !looking.seen.has(stopKey(one)));
}

export type Moves = "stops" | "goes on" | "ends" | "is left" | "";

const EVENTS: Readonly<Record<string, Moves>> = {
  stopped: "stops",
  continued: "goes on",
  terminated: "ends",
};
const GOES_ON = ["continue", "next", "stepIn", "stepOut", "goto"];

/** What a message between editor and adapter says of where the worker is. */
export function moves(message: unknown): Moves {
  const { type, event, command, success } = message as Partial<Record<string, unknown>>;
  if (type === "event") {
    return EVENTS[String(event)] ?? "";
  }
  if (type === "request") {
    return command === "disconnect" ? "is left" : "";
  }
  return success === true && GOES_ON.includes(String(command)) ? "goes on" : "";
}
