/** What happens without a click: attaching by itself, the offer of held workers, the reminder. */

import * as vscode from "vscode";

import type { Disposable } from "../../common/disposables";
import { count, plain } from "../../common/texts";
import type { Parts } from "../../parts";
import { setting } from "../../settings";
import type { Snapshot } from "../workers/messages";
import type { Attacher } from "./attacher";
import { HELD_LONG, RELEASE, type HeldLong } from "./messages";
import { autoAttachChoice, heldSentence, keyOf, nextWaiting, targetOf } from "./model";
import { actOn } from "./outcomes";
import type { Sessions } from "./sessions";

const ATTACH = "Attach";
const RUN_ON = "Let It Run On";

/** Listens to the list of paused workers; owned by the feature. */
export class Automatic implements Disposable {
  private readonly subscriptions: Disposable[];
  private readonly tried = new Set<string>();
  private readonly left = new Set<string>();
  private offered = false;
  private attaching = false;

  constructor(
    private readonly parts: Parts,
    private readonly attacher: Attacher,
    private readonly sessions: Sessions,
  ) {
    this.subscriptions = [
      parts.paused.onChanged((snapshot) => {
        void this.attachByItself(snapshot);
        void this.offerHeld(snapshot);
      }),
      parts.sidecar.onNotification(HELD_LONG, (held) => {
        void this.remind(held);
      }),
    ];
  }

  dispose(): void {
    for (const subscription of this.subscriptions) {
      subscription.dispose();
    }
  }

  private async attachByItself(snapshot: Snapshot): Promise<void> {
    const choice = autoAttachChoice(setting("autoAttach"), snapshot, {
      sessions: this.sessions.count,
      tried: new Set([...this.sessions.seen, ...this.tried]),
      left: this.stillLeft(snapshot),
    });
    if (!choice || this.attaching) {
      return;
    }
    const target = targetOf(choice);
    this.tried.add(keyOf(target));
    this.attaching = true;
    try {
      if (!(await this.attacher.attachUnlessTaken(target))) {
        this.left.add(keyOf(target));
      }
    } finally {
      this.attaching = false;
    }
  }

  /** A worker that is listed no more has been let go by whoever had it. */
  private stillLeft({ groups }: Snapshot): ReadonlySet<string> {
    const listed = new Set(
      groups.flatMap((group) => group.workers.map((worker) => keyOf(targetOf(worker)))),
    );
    for (const key of this.left) {
      if (!listed.has(key)) {
        this.left.delete(key);
      }
    }
    return this.left;
  }

  /** Once per window, for what an earlier window or a crash left stopped. */
  private async offerHeld(snapshot: Snapshot): Promise<void> {
    const sentence = heldSentence(snapshot);
    if (this.offered || snapshot.groups.length === 0) {
      return;
    }
    this.offered = true;
    if (sentence === undefined) {
      return;
    }
    const answer = await vscode.window.showInformationMessage(plain(sentence), ATTACH);
    const first = nextWaiting(heldOnly(this.parts.paused.value), undefined);
    if (answer === ATTACH && first) {
      await this.attacher.attach(targetOf(first));
    }
  }

  private async remind(held: HeldLong): Promise<void> {
    const time = count(held.minutes, "minute");
    const sentence = plain(`${held.name} has been held for ${time}.`);
    const answer = await vscode.window.showInformationMessage(sentence, ATTACH, RUN_ON);
    const target = { cluster: held.cluster, worker: held.worker_id };
    if (answer === ATTACH) {
      await this.attacher.attach(target);
    } else if (answer === RUN_ON) {
      await actOn(this.parts, "releasing", RELEASE, target.cluster, [target.worker]);
    }
  }
}

function heldOnly(snapshot: Snapshot): Snapshot {
  const groups = snapshot.groups.map((group) => ({
    ...group,
    workers: group.workers.filter((worker) => worker.state === "held"),
  }));
  return { ...snapshot, groups };
}
