/** Followed logs, each in an output channel of its own. */

import { randomUUID } from "node:crypto";

import * as vscode from "vscode";

import type { Disposable } from "../../../common/disposables";
import { setContextKey } from "../../../settings";
import type { Sidecar } from "../../../sidecar/sidecar";
import { FOLLOW_LOG, LOG_TEXT, STOP_FOLLOWING, type LogText } from "../messages";
import type { WorkerName } from "../rows";
import { logTitle, type Stream } from "./model";

/** A log that is followed, or was until it ended; its channel stays to be read. */
interface LogFollower {
  readonly id: string;
  readonly worker: WorkerName;
  readonly stream: Stream;
  readonly title: string;
  readonly channel: vscode.OutputChannel;
  active: boolean;
}

/** Owns the channels; one for each log. */
export class LogFollowers implements Disposable {
  private readonly followers = new Map<string, LogFollower>();
  private readonly owned: readonly Disposable[];

  constructor(private readonly sidecar: Sidecar) {
    this.owned = [
      sidecar.onNotification(LOG_TEXT, (text) => {
        this.append(text);
      }),
      sidecar.onStarted(() => void this.followAgain()),
    ];
  }

  get active(): readonly LogFollower[] {
    return [...this.followers.values()].filter((follower) => follower.active);
  }

  async follow(worker: WorkerName, stream: Stream): Promise<void> {
    const key = `${worker.cluster} ${worker.worker_id} ${stream}`;
    const known = this.followers.get(key);
    if (known?.active === true) {
      known.channel.show(true);
      return;
    }
    const title = logTitle(worker, stream);
    const channel =
      known?.channel ??
      vscode.window.createOutputChannel(vscode.l10n.t("Ray log: {0}", title), "log");
    channel.clear();
    const follower = { id: randomUUID(), worker, stream, title, channel, active: true };
    this.followers.set(key, follower);
    channel.show(true);
    try {
      await this.request(follower);
    } catch (error) {
      this.end(follower);
      throw error;
    }
    this.updateContext();
  }

  async stop(follower: LogFollower): Promise<void> {
    this.end(follower);
    follower.channel.appendLine("— not followed any more —");
    await this.sidecar.request(STOP_FOLLOWING, { follow_id: follower.id });
  }

  dispose(): void {
    for (const disposable of [
      ...this.owned,
      ...[...this.followers.values()].map((follower) => follower.channel),
    ]) {
      disposable.dispose();
    }
  }

  private async request({ id, worker, stream }: LogFollower): Promise<void> {
    const { cluster, worker_id } = worker;
    await this.sidecar.request(FOLLOW_LOG, { follow_id: id, cluster, worker_id, stream });
  }

  private append({ follow_id, text, ended }: LogText): void {
    const follower = this.active.find(({ id }) => id === follow_id);
    if (follower === undefined) {
      return;
    }
    follower.channel.append(text);
    if (ended) {
      follower.channel.appendLine("— the log ended —");
      this.end(follower);
    }
  }

  private end(follower: LogFollower): void {
    follower.active = false;
    this.updateContext();
  }

  private updateContext(): void {
    setContextKey("eagleray.following", this.active.length > 0);
  }

  /** A new sidecar sends the log from its beginning, so the channel is cleared. */
  private async followAgain(): Promise<void> {
    for (const follower of this.active) {
      follower.channel.clear();
      try {
        await this.request(follower);
      } catch (error) {
        follower.channel.appendLine(`— not followed any more: ${String(error)} —`);
        this.end(follower);
      }
    }
  }
}
