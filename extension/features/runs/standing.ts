/** Whether the person stands at a line in some session of this window. */

import * as vscode from "vscode";

import type { Disposable } from "../../common/disposables";
import { DEBUG_TYPE } from "../../contributions";
import { moves } from "./stop_model";

/** Who disconnects from a worker wants none of those in its place that stand there already. */
export type Leaving = "by hand" | "by itself";

/** A worker that goes on and stops again at once, as in a loop, keeps the person's attention. */
const GRACE_MS = 500;
/** A session begins at a stop; one that does not say so within this time looks at a worker that runs. */
const ARRIVAL_MS = 8000;

/** Hears what passes between the editor and the adapter; owned by the feature. */
export class Standing implements Disposable, vscode.DebugAdapterTrackerFactory {
  /** Ids of sessions that are stopped, were stopped a moment ago, or have just started. */
  private readonly stands = new Set<string>();
  /** Timers of sessions that have resumed, until they stop again or have been running for a moment. */
  private readonly resumed = new Map<string, NodeJS.Timeout>();
  private readonly attached = new Map<string, string>();
  private readonly left = new vscode.EventEmitter<Leaving>();
  private readonly timers = new Set<NodeJS.Timeout>();
  private readonly registered: Disposable;
  /** Fires when the person has stood nowhere for a moment, and at once when they disconnect. */
  readonly onLeft = this.left.event;

  constructor() {
    this.registered = vscode.debug.registerDebugAdapterTrackerFactory(DEBUG_TYPE, this);
  }

  get isStanding(): boolean {
    return this.stands.size > 0;
  }

  /** The workers that have a session, by `stopKey`. */
  get workers(): ReadonlySet<string> {
    return new Set(this.attached.values());
  }

  createDebugAdapterTracker({
    id,
    configuration,
  }: vscode.DebugSession): vscode.DebugAdapterTracker {
    const { cluster, worker } = configuration as Record<string, unknown>;
    let hasArrived = false;
    let isOver = false;
    const take = (message: unknown): void => {
      const move = moves(message);
      hasArrived ||= move !== "";
      isOver ||= move === "ends";
      if (move === "stops") {
        this.cancel(this.resumed.get(id));
        this.resumed.delete(id);
        this.stands.add(id);
      } else if (move === "goes on" && !this.resumed.has(id)) {
        this.resumed.set(
          id,
          this.later(GRACE_MS, () => {
            this.resumed.delete(id);
            this.stands.delete(id);
          }),
        );
      }
    };
    return {
      onWillReceiveMessage: (message: unknown) => {
        // The editor disconnects as well from what has ended by itself.
        if (!isOver && moves(message) === "is left") {
          isOver = true;
          this.left.fire("by hand");
        }
      },
      onWillStartSession: () => {
        this.stands.add(id);
        this.attached.set(id, `${String(cluster)} ${String(worker)}`);
        this.later(ARRIVAL_MS, () => hasArrived || this.stands.delete(id));
      },
      onDidSendMessage: take,
      onWillStopSession: () => {
        this.ended(id);
      },
      onError: () => {
        this.ended(id);
      },
      onExit: () => {
        this.ended(id);
      },
    };
  }

  dispose(): void {
    this.registered.dispose();
    this.left.dispose();
    for (const timer of this.timers) {
      clearTimeout(timer);
    }
  }

  private ended(id: string): void {
    if (this.attached.delete(id)) {
      this.stands.delete(id);
      this.later(GRACE_MS);
    }
  }

  private cancel(timer: NodeJS.Timeout | undefined): void {
    if (timer !== undefined) {
      clearTimeout(timer);
      this.timers.delete(timer);
    }
  }

  /** Fires `onLeft` after `ms` if no session is stopped then; `first` is called before that check. */
  private later(ms: number, first: () => unknown = () => undefined): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      first();
      if (!this.isStanding) {
        this.left.fire("by itself");
      }
    }, ms);
    this.timers.add(timer);
    return timer;
  }
}
