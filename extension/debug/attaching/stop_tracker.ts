/** Tracks whether any debug session of this window is stopped, from the messages between editor and adapter. */

import * as vscode from "vscode";

import type { Disposable } from "../../common/disposables";
import { targetKey } from "./model";

/** After a disconnect by hand, no other stopped worker takes the place of the one that was left. */
type LeftHow = "by the user" | "without the user";

/** A worker that continues and stops again at once, as in a loop, keeps the user's attention. */
const GRACE_MS = 500;
/** A session begins at a stop; without a stopped event within this time its worker is running. */
const ARRIVAL_MS = 8000;

/** Registered as a tracker of every session; owned by the feature debugging. */
export class StopTracker implements Disposable, vscode.DebugAdapterTrackerFactory {
  /** Ids of sessions that are stopped, were stopped a moment ago, or have just started. */
  private readonly stoppedIds = new Set<string>();
  /** Timers of sessions that have resumed, until they stop again or have been running for a moment. */
  private readonly resumed = new Map<string, NodeJS.Timeout>();
  private readonly workerOf = new Map<string, string>();
  private readonly leftEmitter = new vscode.EventEmitter<LeftHow>();
  private readonly timers = new Set<NodeJS.Timeout>();
  /** Fires when no session has been stopped for a moment, and at once when the user disconnects. */
  readonly onLeft = this.leftEmitter.event;

  get isStopped(): boolean {
    return this.stoppedIds.size > 0;
  }

  /** Keys of the workers that have a session. */
  get attached(): ReadonlySet<string> {
    return new Set(this.workerOf.values());
  }

  createDebugAdapterTracker({
    id,
    configuration,
  }: vscode.DebugSession): vscode.DebugAdapterTracker {
    const { cluster, worker } = configuration as Record<string, unknown>;
    let hasArrived = false;
    let isOver = false;
    const take = (message: unknown): void => {
      const move = movementOf(message);
      hasArrived ||= move !== "";
      isOver ||= move === "ends";
      if (move === "stops") {
        this.cancel(this.resumed.get(id));
        this.resumed.delete(id);
        this.stoppedIds.add(id);
      } else if (move === "resumes" && !this.resumed.has(id)) {
        this.resumed.set(
          id,
          this.later(GRACE_MS, () => {
            this.resumed.delete(id);
            this.stoppedIds.delete(id);
          }),
        );
      }
    };
    return {
      onWillReceiveMessage: (message: unknown) => {
        // The editor also disconnects from a session that has already ended (VS Code 1.139.1).
        if (!isOver && movementOf(message) === "is left") {
          isOver = true;
          this.leftEmitter.fire("by the user");
        }
      },
      onWillStartSession: () => {
        this.stoppedIds.add(id);
        this.workerOf.set(id, targetKey({ cluster: String(cluster), worker: String(worker) }));
        this.later(ARRIVAL_MS, () => hasArrived || this.stoppedIds.delete(id));
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
    this.leftEmitter.dispose();
    for (const timer of this.timers) {
      clearTimeout(timer);
    }
  }

  private ended(id: string): void {
    if (this.workerOf.delete(id)) {
      this.stoppedIds.delete(id);
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
      if (!this.isStopped) {
        this.leftEmitter.fire("without the user");
      }
    }, ms);
    this.timers.add(timer);
    return timer;
  }
}

type Movement = "stops" | "resumes" | "ends" | "is left" | "";

const EVENTS: Readonly<Record<string, Movement>> = {
  stopped: "stops",
  continued: "resumes",
  terminated: "ends",
};

const RESUMING = ["continue", "next", "stepIn", "stepOut", "goto"];

/** How a message between editor and adapter changes whether its worker is stopped. */
export function movementOf(message: unknown): Movement {
  const { type, event, command, success } = message as Partial<Record<string, unknown>>;
  if (type === "event") {
    return EVENTS[String(event)] ?? "";
  }
  if (type === "request") {
    return command === "disconnect" ? "is left" : "";
  }
  return success === true && RESUMING.includes(String(command)) ? "resumes" : "";
}
