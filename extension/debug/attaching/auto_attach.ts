/** Attaches to workers without a click: one at a time, and each only as its rule allows. */

import type { App } from "../../app";
import type { Disposable } from "../../common/disposables";
import { setting } from "../../settings";
import type { Snapshot } from "../workers/messages";
import type { Attacher } from "./worker_actions";
import { autoAttachChoice, targetKey, targetOf, type Target } from "./model";
import type { DebugSessions } from "./sessions";

/** One attach at a time; owned by the rule that chooses the workers. */
export class AutoAttach<T extends Target> {
  /** Keys of what is not chosen again; the rule may add and remove some. */
  readonly tried = new Set<string>();
  private isAttaching = false;

  /** `attach` resolves to whether a session began, and has shown why not. */
  constructor(
    private readonly attach: (target: T) => Promise<boolean>,
    private readonly keyOf: (target: T) => string = targetKey,
  ) {}

  /** Attaches to `target`; undefined without one, and while another attach is under way. */
  async next(target: T | undefined): Promise<boolean | undefined> {
    if (target === undefined || this.isAttaching) {
      return undefined;
    }
    this.tried.add(this.keyOf(target));
    this.isAttaching = true;
    try {
      return await this.attach(target);
    } finally {
      this.isAttaching = false;
    }
  }
}

/** The rule of the setting `autoAttach`, for the list of paused workers; owned by the feature. */
export class PausedAutoAttach implements Disposable {
  private readonly autoAttach: AutoAttach<Target>;
  private readonly listening: Disposable;
  /** Keys of workers that another window had, as long as they are listed. */
  private readonly taken = new Set<string>();

  constructor(
    app: App,
    attacher: Attacher,
    private readonly sessions: DebugSessions,
  ) {
    this.autoAttach = new AutoAttach((target) => attacher.attachUnlessTaken(target));
    this.listening = app.paused.onChanged((snapshot) => {
      void this.attach(snapshot);
    });
  }

  dispose(): void {
    this.listening.dispose();
  }

  private async attach(snapshot: Snapshot): Promise<void> {
    const choice = autoAttachChoice(setting("autoAttach"), snapshot, {
      sessions: this.sessions.count,
      tried: new Set([...this.sessions.everAttached, ...this.autoAttach.tried]),
      taken: this.stillTaken(snapshot),
    });
    const target = choice && targetOf(choice);
    if (target !== undefined && (await this.autoAttach.next(target)) === false) {
      this.taken.add(targetKey(target));
    }
  }

  /** A worker that is no longer listed was released by the window that had it. */
  private stillTaken({ groups }: Snapshot): ReadonlySet<string> {
    const listed = new Set(
      groups.flatMap((group) => group.workers.map((worker) => targetKey(targetOf(worker)))),
    );
    for (const key of this.taken) {
      if (!listed.has(key)) {
        this.taken.delete(key);
      }
    }
    return this.taken;
  }
}
