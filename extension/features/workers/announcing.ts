/** Whether a paused worker is worth a notification: the first one of each run of a cluster is. */

import { count, plain } from "../../common/texts";
import type { Clusters } from "../clusters/messages";
import type { Group, PausedWorker, Snapshot } from "./messages";

export interface Announcement {
  readonly sentence: string;
  /** Whom the button "Attach" is for. */
  readonly worker: PausedWorker;
  readonly group: Group;
}

/** Remembers which runs of which clusters were announced; one per window. */
export class Announcer {
  private readonly announced = new Set<string>();

  /** What is to be announced now, if anything.  Each answer is given once. */
  next(snapshot: Snapshot, { clusters }: Clusters): Announcement | undefined {
    for (const group of snapshot.groups) {
      const worker = group.workers.find((one) => one.state === "paused");
      const cluster = clusters.find((one) => one.id === group.cluster);
      if (worker === undefined || cluster === undefined) {
        continue;
      }
      const run = `${cluster.id} ${cluster.session}`;
      if (!this.announced.has(run)) {
        this.announced.add(run);
        return { sentence: sentence(group), worker, group };
      }
    }
    return undefined;
  }
}

function sentence(group: Group): string {
  const waiting = group.workers.filter((worker) => worker.state === "paused");
  const verb = waiting.length === 1 ? "is" : "are";
  const where = waiting.every((worker) => worker.kind === "post-mortem")
    ? "after an error"
    : "at a breakpoint()";
  return `${count(waiting.length, "worker")} of ${plain(group.title)} ${verb} paused ${where}.`;
}
