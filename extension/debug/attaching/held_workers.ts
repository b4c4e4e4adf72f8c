/** Workers that stay stopped without an editor: offered when a window opens and after a while. */

import * as vscode from "vscode";

import type { App } from "../../app";
import type { Disposable } from "../../common/disposables";
import { plain, roughDuration } from "../../common/texts";
import type { Snapshot } from "../workers/messages";
import { workerName } from "../workers/names";
import { HELD_LONG, RELEASE, type HeldLong } from "./messages";
import { allWorkers, heldSentence, nextWaiting, targetOf } from "./model";
import { requestAction, type Attacher } from "./worker_actions";

const ATTACH = vscode.l10n.t("Attach");
const RESUME = vscode.l10n.t("Resume");

/** Listens to the list of paused workers; owned by the feature. */
export class HeldWorkers implements Disposable {
  private readonly subscriptions: readonly Disposable[];
  private isOffered = false;

  constructor(
    private readonly app: App,
    private readonly attacher: Attacher,
  ) {
    this.subscriptions = [
      app.paused.onChanged((snapshot) => {
        void this.offer(snapshot);
      }),
      app.sidecar.onNotification(HELD_LONG, (held) => {
        void this.remind(held);
      }),
    ];
  }

  dispose(): void {
    for (const subscription of this.subscriptions) {
      subscription.dispose();
    }
  }

  /** Once per window, for the workers that an earlier window or a crash left stopped. */
  private async offer(snapshot: Snapshot): Promise<void> {
    const sentence = heldSentence(snapshot);
    if (this.isOffered || snapshot.groups.length === 0) {
      return;
    }
    this.isOffered = true;
    if (sentence === undefined) {
      return;
    }
    const answer = await vscode.window.showInformationMessage(plain(sentence), ATTACH);
    const first = nextWaiting(heldOnly(this.app.paused.value), undefined);
    if (answer === ATTACH && first) {
      await this.attacher.attach(targetOf(first));
    }
  }

  private async remind(held: HeldLong): Promise<void> {
    const time = roughDuration(held.held_s);
    const worker = allWorkers(this.app.paused.value).find(
      ({ cluster, worker_id }) => cluster === held.cluster && worker_id === held.worker_id,
    );
    const name = worker === undefined ? held.name : workerName(worker);
    const sentence = plain(vscode.l10n.t("{0} has been held for {1}.", name, time));
    const answer = await vscode.window.showInformationMessage(sentence, ATTACH, RESUME);
    const target = { cluster: held.cluster, worker: held.worker_id };
    if (answer === ATTACH) {
      await this.attacher.attach(target);
    } else if (answer === RESUME) {
      await requestAction(this.app, "releasing", RELEASE, target.cluster, [target.worker]);
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
