/** The commands of the debugging feature. */

import { basename } from "node:path";

import * as vscode from "vscode";

import type { App } from "../../app";
import { plain } from "../../common/texts";
import type { RequestMethod } from "../../common/wire";
import type { Row } from "../../panel";
import { CONTINUE, FORGET_IGNORED, IGNORED, type Outcome, type Workers } from "./messages";
import { isControllable, isWaiting, nextWaiting, targetOf, type Target } from "./model";
import type { DebugSessions } from "./sessions";
import { requestAction, type Attacher } from "./worker_actions";
import { targetsOf, waitingNow } from "./worker_picker";

export class DebugCommands {
  constructor(
    private readonly app: App,
    private readonly attacher: Attacher,
    private readonly sessions: DebugSessions,
  ) {}

  /** One after another: each session that begins takes the focus, and the last one keeps it. */
  async attach(rows: readonly Row[], args: readonly unknown[]): Promise<boolean> {
    const chosen = await targetsOf(this.app, rows, args, isWaiting);
    let all = chosen.length > 0;
    for (const target of chosen) {
      all = (await this.attacher.attach(target)) && all;
    }
    return all;
  }

  async attachNext(): Promise<boolean> {
    const { app, sessions } = this;
    const listed = await app.errors.shown("looking for paused workers", () => waitingNow(app));
    if (listed === undefined) {
      return false;
    }
    const next = nextWaiting(app.paused.value, sessions.last);
    if (!next) {
      void vscode.window.showInformationMessage(vscode.l10n.t("No worker is paused."));
      return false;
    }
    return await this.attacher.attach(targetOf(next));
  }

  async act(
    doing: string,
    method: RequestMethod<Workers, Outcome>,
    rows: readonly Row[],
    args: readonly unknown[],
  ): Promise<void> {
    await this.send(doing, method, await targetsOf(this.app, rows, args, isControllable));
  }

  /** Continues every worker that is stopped here, also those that are being debugged. */
  async continueAll(): Promise<void> {
    const { app } = this;
    const listed = await app.errors.shown("looking for paused workers", () => waitingNow(app));
    if (listed === undefined) {
      return;
    }
    const stopped = app.paused.value.groups.flatMap(({ workers }) =>
      workers.filter(isControllable).map(targetOf),
    );
    if (stopped.length === 0) {
      void vscode.window.showInformationMessage(vscode.l10n.t("No worker is paused."));
    }
    await this.send("continuing", CONTINUE, stopped);
  }

  /** Sends `method` once per cluster, since a request is for workers of one cluster. */
  private async send(
    doing: string,
    method: RequestMethod<Workers, Outcome>,
    chosen: readonly Target[],
  ): Promise<void> {
    for (const cluster of new Set(chosen.map((target) => target.cluster))) {
      const workers = chosen.filter((target) => target.cluster === cluster);
      await requestAction(
        this.app,
        doing,
        method,
        cluster,
        workers.map((target) => target.worker),
      );
    }
  }

  async forgetIgnored(): Promise<void> {
    const { ignored } = await this.app.sidecar.request(IGNORED, {});
    if (ignored.length === 0) {
      void vscode.window.showInformationMessage(vscode.l10n.t("No breakpoint() is skipped."));
      return;
    }
    const items = ignored.map((place) => ({
      label: plain(`${basename(place.path)}:${place.line}`),
      description: plain(place.path),
      detail: plain(place.cluster),
      place,
    }));
    const picked = await vscode.window.showQuickPick(items, {
      placeHolder: vscode.l10n.t("Select a breakpoint() that pauses workers again"),
    });
    if (picked) {
      await this.app.sidecar.request(FORGET_IGNORED, picked.place);
    }
  }
}
