/** Brings a worker that stops in a run of this window to the front, as a debugger does. */

import * as vscode from "vscode";

import type { App } from "../app";
import type { Disposable } from "../common/disposables";
import { plain } from "../common/texts";
import { COMMANDS } from "../contributions";
import { setting } from "../settings";
import { AutoAttach } from "../debug/attaching/auto_attach";
import { targetKey, type Target } from "../debug/attaching/model";
import type { StopTracker } from "../debug/attaching/stop_tracker";
import { shortPlace } from "../debug/workers/names";
import type { Run, RunWorkerStatus, StoredRuns } from "./messages";
import { workerTitle } from "./worker_names";
import { isOfThisWindow } from "./run_list";
import { isAtStop, isLive } from "./states";

/** How long the status bar shows which workers have paused. */
const ANNOUNCED_MS = 10_000;

/**
 * One stop at a time: while a session is stopped, the other workers wait, held, in the list of paused workers.
 * Workers that were stopped when the window opened are only offered by that list.
 */
export class RunStops implements Disposable {
  private readonly autoAttach = new AutoAttach<StoppedWorker>(
    (target) => this.attach(target),
    stopKey,
  );
  /** Keys of the workers that the user asked to pause. */
  private readonly requested = new Set<string>();
  private readonly subscriptions: readonly Disposable[];
  /** Keys of the stops in the last list. */
  private atStop: ReadonlySet<string> = new Set();
  private isFirst = true;

  /** `started` holds the ids of the runs that this window has started, runs of a terminal among them. */
  constructor(
    private readonly app: App,
    private readonly started: ReadonlySet<string>,
    private readonly tracker: StopTracker,
  ) {
    this.subscriptions = [
      app.runs.onChanged((runs) => {
        this.update(runs);
      }),
      tracker.onLeft((how) => {
        if (how === "by the user") {
          this.passOver();
        } else {
          this.update(app.runs.value);
        }
      }),
    ];
  }

  /** Runs `pause` for a worker, which then comes to the front whatever the user looks at, unless it fails. */
  async bringOnPause(worker: Target, pause: () => Promise<unknown>): Promise<void> {
    this.requested.add(targetKey(worker));
    try {
      await pause();
    } catch (error) {
      this.requested.delete(targetKey(worker));
      throw error;
    }
  }

  dispose(): void {
    for (const subscription of this.subscriptions) {
      subscription.dispose();
    }
  }

  private update(runs: StoredRuns): void {
    const ours = setting("runs.showStops") ? runs.runs.filter((run) => this.isOurs(run)) : [];
    const ids = ours.flatMap((run) => run.workers.map((worker) => worker.worker_id));
    this.app.broughtUp.set(new Set(ids));
    const stopped = stoppedIn(runs);
    const stoppedKeys = new Set(stopped.map(stopKey));
    for (const key of this.autoAttach.tried) {
      if (!stoppedKeys.has(key)) {
        this.autoAttach.tried.delete(key);
      }
    }
    const fresh = stopped.filter(
      // An editor has shown the others, whose steps are stops, too.
      (worker) => worker.status.state === "paused" && !this.atStop.has(stopKey(worker)),
    );
    this.atStop = stoppedKeys;
    if (this.isFirst) {
      this.isFirst = false;
      this.passOver();
    } else {
      this.announce(fresh);
    }
    void this.bring(stopped);
  }

  /** Workers that pause while the user looks at another one; nothing else shows them at once. */
  private announce(fresh: readonly StoppedWorker[]): void {
    const text = this.tracker.isStopped
      ? pausedText(fresh.filter(({ run }) => this.isOurs(run)))
      : "";
    if (text !== "") {
      vscode.window.setStatusBarMessage(`$(debug-pause) ${text}`, ANNOUNCED_MS);
    }
  }

  /** The workers that are stopped now are only offered by the list. */
  private passOver(): void {
    for (const worker of stoppedIn(this.app.runs.value)) {
      this.autoAttach.tried.add(stopKey(worker));
    }
  }

  private async bring(stopped: readonly StoppedWorker[]): Promise<void> {
    const next = nextStop(stopped, {
      tried: this.autoAttach.tried,
      requested: this.requested,
      attached: this.tracker.attached,
      isStopped: this.tracker.isStopped,
      isOurs: (run) => this.isOurs(run),
      isAutomatic: setting("runs.showStops"),
    });
    if (await this.autoAttach.next(next)) {
      // The user may have asked another worker to pause meanwhile.
      this.update(this.app.runs.value);
    }
  }

  /** Whether a session began; a failure has been shown, and no other worker is tried because of it. */
  private async attach(target: Target): Promise<boolean> {
    this.requested.delete(targetKey(target));
    const { cluster, worker } = target;
    return (await vscode.commands.executeCommand(COMMANDS.attach, { cluster, worker })) === true;
  }

  private isOurs(run: Run): boolean {
    return isOfThisWindow(run) || this.started.has(run.id);
  }
}

/** A stopped worker, and its run. */
interface StoppedWorker extends Target {
  readonly run: Run;
  readonly status: RunWorkerStatus;
}

/** Tells a stop of a worker from its later ones, also at the same line. */
function stopKey(worker: StoppedWorker): string {
  return `${targetKey(worker)} ${worker.status.stop}`;
}

/** "policy-1 (rank 1) paused at learner.py:19", "3 more workers paused"; "" for none. */
export function pausedText(workers: readonly Pick<StoppedWorker, "status">[]): string {
  const [first] = workers;
  if (first === undefined) {
    return "";
  }
  if (workers.length > 1) {
    return vscode.l10n.t("{0} more workers paused", workers.length);
  }
  const { path, line } = first.status;
  return path === ""
    ? vscode.l10n.t("{0} paused", workerTitle(first.status))
    : vscode.l10n.t("{0} paused at {1}", workerTitle(first.status), plain(shortPlace(path, line)));
}

/** The actions and state of this window; workers and stops by their keys. */
export interface NextStopInput {
  /** Stops that came to the front before, or that the user left. */
  readonly tried: ReadonlySet<string>;
  /** Workers that the user asked to pause. */
  readonly requested: ReadonlySet<string>;
  /** Workers that have a session. */
  readonly attached: ReadonlySet<string>;
  /** Some session is stopped. */
  readonly isStopped: boolean;
  isOurs(run: Run): boolean;
  /** Whether stops come to the front without a request. */
  readonly isAutomatic: boolean;
}

/** The stopped workers, the newest run's first. */
export function stoppedIn({ runs }: StoredRuns): StoppedWorker[] {
  // The workers of a run that is being stopped are about to end.
  const live = runs.filter((run) => isLive(run) && run.state !== "stopping");
  return live.flatMap((run) =>
    run.workers
      .filter(isAtStop)
      .map((status) => ({ run, status, cluster: run.cluster, worker: status.worker_id })),
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
  const wanted = free.find((worker) => looking.requested.has(targetKey(worker)));
  if (wanted !== undefined || looking.isStopped || !looking.isAutomatic) {
    return wanted;
  }
  return free.find((worker) => looking.isOurs(worker.run) && !looking.tried.has(stopKey(worker)));
}
