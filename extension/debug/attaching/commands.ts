/** The commands of the debugging feature. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { plain } from "../../common/texts";
import type { RequestMethod } from "../../common/wire";
import type { Row } from "../../rows";
import type { PausedWorker } from "../workers/messages";
import { shortPlace } from "../workers/names";
import {
  CONTINUE,
  FORGET_IGNORED,
  IGNORE,
  IGNORED,
  RELEASE,
  type IgnoredBreakpoint,
  type Outcome,
  type Workers,
} from "./messages";
import {
  allWorkers,
  isControllable,
  isWaiting,
  nextWaiting,
  pausedAgainSentence,
  skippedPlace,
  skippedSentence,
  targetKey,
  targetOf,
  type Target,
} from "./model";
import type { DebugSessions } from "./sessions";
import { requestAction, type Attacher } from "./worker_actions";
import { targetsOf, waitingNow } from "./worker_picker";

/** How long after Continue All a pause counts as one that followed at once. */
const AGAIN_MS = 2000;

export class DebugCommands implements vscode.Disposable {
  private readonly timers = new Set<NodeJS.Timeout>();
  /** The lines for which a skip was offered, each once: in a loop the workers pause there again and again. */
  private readonly offered = new Set<string>();

  constructor(
    private readonly app: App,
    private readonly attacher: Attacher,
    private readonly sessions: DebugSessions,
  ) {}

  dispose(): void {
    for (const timer of this.timers) {
      clearTimeout(timer);
    }
  }

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
    await this.continueAndReport(stopped);
  }

  /** Ends the sessions of workers that run, which keep running. */
  async detach(workers: readonly Target[]): Promise<void> {
    await this.send("releasing", RELEASE, workers);
  }

  /** Skips the breakpoint()s at which workers wait, says so, and offers to undo it. */
  async skip(rows: readonly Row[], args: readonly unknown[]): Promise<void> {
    await this.skipAt(await targetsOf(this.app, rows, args, isControllable));
  }

  /** Not at a breakpoint of the editor: its dot would stay, and no worker would stop at it. */
  private async skipAt(chosen: readonly Target[]): Promise<void> {
    const keys = new Set(chosen.map(targetKey));
    const workers = allWorkers(this.app.paused.value).filter((worker) =>
      keys.has(targetKey(targetOf(worker))),
    );
    const dots = workers.flatMap((worker) => dotAt(worker) ?? []);
    const atDots = new Set(workers.filter(dotAt).map((worker) => targetKey(targetOf(worker))));
    const [first] = dots;
    if (first !== undefined) {
      void this.app.errors.shown("removing a breakpoint", () => offerRemoval(first, dots));
    }
    const others = chosen.filter((target) => !atDots.has(targetKey(target)));
    const outcomes = await this.send("skipping a breakpoint()", IGNORE, others);
    const skipped = outcomes.flatMap(({ ignored }) => ignored);
    const sentence = skippedSentence(skipped);
    if (sentence !== undefined) {
      void this.app.errors.shown("managing skipped breakpoint()s", () =>
        this.offerUndo(sentence, skipped),
      );
    }
  }

  private async offerUndo(sentence: string, skipped: readonly IgnoredBreakpoint[]): Promise<void> {
    const undo = vscode.l10n.t("Undo");
    if ((await vscode.window.showInformationMessage(sentence, undo)) === undo) {
      for (const place of skipped) {
        await this.app.sidecar.request(FORGET_IGNORED, place);
      }
    }
  }

  /** Continues several workers; when they soon pause again, it would look as if nothing had happened. */
  async continueAllOf(rows: readonly Row[], args: readonly unknown[]): Promise<void> {
    await this.continueAndReport(await targetsOf(this.app, rows, args, isControllable));
  }

  private async continueAndReport(chosen: readonly Target[]): Promise<void> {
    const outcomes = await this.send("continuing", CONTINUE, chosen);
    if (outcomes.some(({ done }) => done > 0)) {
      const failed = outcomes.flatMap(({ failures }) =>
        failures.map((failure) => failure.worker_id),
      );
      const continued = chosen.filter(({ worker }) => !failed.includes(worker));
      const timer = setTimeout(() => {
        this.timers.delete(timer);
        void this.app.errors.shown("looking for paused workers", () =>
          this.reportPauses(continued),
        );
      }, AGAIN_MS);
      this.timers.add(timer);
    }
  }

  private async reportPauses(continued: readonly Target[]): Promise<void> {
    const keys = new Set(continued.map(targetKey));
    const again = allWorkers(this.app.paused.value).filter(
      (worker) => isWaiting(worker) && keys.has(targetKey(targetOf(worker))),
    );
    const sentence = pausedAgainSentence(again);
    const lines = again.map(lineKey);
    if (sentence === undefined || lines.every((line) => this.offered.has(line))) {
      return;
    }
    lines.forEach((line) => this.offered.add(line));
    const skip = vscode.l10n.t("Skip This breakpoint()");
    const canSkip = again.filter(
      (worker) => worker.kind !== "post-mortem" && dotAt(worker) === undefined,
    );
    const answer = await vscode.window.showInformationMessage(
      sentence,
      ...(canSkip.length > 0 ? [skip] : []),
    );
    if (answer === skip) {
      await this.skipAt(canSkip.map(targetOf));
    }
  }

  /** Sends `method` once per cluster, since a request is for workers of one cluster. */
  private async send(
    doing: string,
    method: RequestMethod<Workers, Outcome>,
    chosen: readonly Target[],
  ): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    for (const cluster of new Set(chosen.map((target) => target.cluster))) {
      const workers = chosen.filter((target) => target.cluster === cluster);
      const outcome = await requestAction(
        this.app,
        doing,
        method,
        cluster,
        workers.map((target) => target.worker),
      );
      if (outcome) {
        outcomes.push(outcome);
      }
    }
    return outcomes;
  }

  async forgetIgnored(): Promise<void> {
    const { ignored } = await this.app.sidecar.request(IGNORED, {});
    if (ignored.length === 0) {
      void vscode.window.showInformationMessage(vscode.l10n.t("No breakpoint() is skipped."));
      return;
    }
    const items = ignored.map((place) => ({
      label: skippedPlace(place),
      description: plain(place.path),
      detail: plain(place.cluster),
      place,
    }));
    const picked = await vscode.window.showQuickPick(items, {
      placeHolder: vscode.l10n.t("Select a line to stop skipping it"),
    });
    if (picked) {
      await this.app.sidecar.request(FORGET_IGNORED, picked.place);
    }
  }
}

/** The breakpoint of the editor at which a worker is stopped. */
function dotAt({ location }: PausedWorker): vscode.SourceBreakpoint | undefined {
  const file = location === null ? "" : location.local || location.path;
  return vscode.debug.breakpoints.find(
    (dot): dot is vscode.SourceBreakpoint =>
      dot instanceof vscode.SourceBreakpoint &&
      dot.enabled &&
      dot.location.uri.fsPath === file &&
      dot.location.range.start.line + 1 === location?.line,
  );
}

async function offerRemoval(
  { location }: vscode.SourceBreakpoint,
  dots: readonly vscode.SourceBreakpoint[],
): Promise<void> {
  const remove = vscode.l10n.t("Remove Breakpoint");
  const place = plain(shortPlace(location.uri.fsPath, location.range.start.line + 1));
  const sentence = vscode.l10n.t("{0} is a breakpoint of the editor. Remove it instead.", place);
  if ((await vscode.window.showInformationMessage(sentence, remove)) === remove) {
    vscode.debug.removeBreakpoints([...new Set(dots)]);
  }
}

/** The line where a worker waits; workers whose line is unknown are alike. */
function lineKey({ cluster, session, location }: PausedWorker): string {
  return JSON.stringify([cluster, session, location?.path, location?.line]);
}
