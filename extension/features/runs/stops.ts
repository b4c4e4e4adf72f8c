/** Brings a worker that stops in a run of this window to the front, as a debugger does. */

import * as vscode from "vscode";

import type { Disposable } from "../../common/disposables";
import { COMMANDS } from "../../contributions";
import type { Parts } from "../../parts";
import { setting } from "../../settings";
import type { Run, Runs } from "./messages";
import type { Standing } from "./standing";
import { nextStop, stopKey, stoppedIn, type Stop, type Target } from "./stop_model";
import type { RunsStore } from "./store";
import { isOfThisWindow } from "./surroundings";

/**
 * One stop at a time: while the person stands at a line the others wait, held, in the list of paused workers.
 * What stood already when the window was opened was left there, and is offered by the list alone.
 */
export class Stops implements Disposable {
  private readonly seen = new Set<string>();
  private readonly wanted = new Set<string>();
  private readonly subscriptions: readonly Disposable[];
  private isFirst = true;
  private isAttaching = false;

  /** In `started` are the ids of what this window has started, runs of a terminal among them. */
  constructor(
    private readonly parts: Parts,
    private readonly store: RunsStore,
    private readonly started: ReadonlySet<string>,
    private readonly standing: Standing,
  ) {
    this.subscriptions = [
      store.runs.onChanged((runs) => {
        this.take(runs);
      }),
      standing.onLeft((how) => {
        if (how === "by hand") {
          this.leave();
        } else {
          this.take(store.runs.value);
        }
      }),
    ];
  }

  /** The person asks this worker to stop: it comes to the front wherever they look, unless asking fails. */
  async wanting(worker: Target, ask: () => Promise<unknown>): Promise<void> {
    this.wanted.add(stopKey(worker));
    try {
      await ask();
    } catch (error) {
      this.wanted.delete(stopKey(worker));
      throw error;
    }
  }

  dispose(): void {
    for (const one of this.subscriptions) {
      one.dispose();
    }
  }

  private take(runs: Runs): void {
    const ours = setting("runs.showStops") ? runs.runs.filter((run) => this.isOurs(run)) : [];
    const ids = ours.flatMap((run) => run.workers.map((worker) => worker.worker_id));
    this.parts.broughtUp.set(new Set(ids));
    const stopped = stoppedIn(runs);
    const standing = new Set(stopped.map(stopKey));
    for (const key of this.seen) {
      if (!standing.has(key)) {
        this.seen.delete(key);
      }
    }
    if (this.isFirst) {
      this.isFirst = false;
      this.leave();
    }
    void this.bring(stopped);
  }

  /** What stands now is offered by the list alone. */
  private leave(): void {
    for (const one of stoppedIn(this.store.runs.value)) {
      this.seen.add(stopKey(one));
    }
  }

  private async bring(stopped: readonly Stop[]): Promise<void> {
    const next = nextStop(stopped, {
      seen: this.seen,
      wanted: this.wanted,
      attached: this.standing.workers,
      isStanding: this.standing.isStanding,
      isOurs: (run) => this.isOurs(run),
      byItself: setting("runs.showStops"),
    });
    if (next === undefined || this.isAttaching) {
      return;
    }
    this.seen.add(stopKey(next));
    this.wanted.delete(stopKey(next));
    if (await this.attach(next)) {
      // Another one may have been asked to pause meanwhile.
      this.take(this.store.runs.value);
    }
  }

  private isOurs(run: Run): boolean {
    return isOfThisWindow(run) || this.started.has(run.id);
  }

  /** Whether a session began; a failure has been shown, and no other worker is tried because of it. */
  private async attach({ cluster, worker }: Stop): Promise<boolean> {
    this.isAttaching = true;
    try {
      const target = { cluster, worker };
      return (await vscode.commands.executeCommand(COMMANDS.attach, target)) === true;
    } finally {
      this.isAttaching = false;
    }
  }
}
