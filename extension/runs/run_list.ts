/** The list of runs: waits for the end of one, and finds this window's. */

import * as vscode from "vscode";

import type { App } from "../app";
import { Disposables } from "../common/disposables";
import { asEaglerayError, EaglerayError } from "../common/errors";
import { plain } from "../common/texts";
import { windowName } from "../workspace";
import type { Run, StoredRuns } from "./messages";
import { isLive } from "./states";

/** Resolves when the run is over; rejects when `cancel` is requested first. */
export function untilOver(
  app: App,
  id: string,
  cancel: vscode.CancellationToken | undefined,
): Promise<void> {
  return until(app, id, cancel, (run) => run === undefined || !isLive(run));
}

/** The same for a run that was just asked to stop; rejects as well when it keeps running. */
export async function untilStopped(
  app: App,
  id: string,
  cancel: vscode.CancellationToken | undefined,
): Promise<void> {
  await app.latestRuns();
  let isStopping = false;
  await until(app, id, cancel, (run) => {
    if (run === undefined || !isLive(run)) {
      return true;
    }
    const keepsRunning = run.state === "unwatched" || (isStopping && run.state !== "stopping");
    isStopping = run.state === "stopping";
    if (keepsRunning) {
      throw notStopped(run.name, run.note);
    }
    return false;
  });
}

/** Resolves once `isDone` is true of the newest state of a run; rejects with what it throws. */
function until(
  { runs }: App,
  id: string,
  cancel: vscode.CancellationToken | undefined,
  isDone: (run: Run | undefined) => boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const owned = new Disposables();
    const check = ({ runs }: StoredRuns): void => {
      try {
        if (isDone(runs.find((run) => run.id === id))) {
          owned.dispose();
          resolve();
        }
      } catch (error) {
        owned.dispose();
        reject(asEaglerayError(error));
      }
    };
    owned.add(runs.onChanged(check));
    if (cancel !== undefined) {
      owned.add(
        cancel.onCancellationRequested(() => {
          owned.dispose();
          reject(new EaglerayError("cancelled", vscode.l10n.t("Cancelled.")));
        }),
      );
    }
    check(runs.value);
  });
}

function notStopped(name: string, why: string): EaglerayError {
  return new EaglerayError(
    "not-stopped",
    vscode.l10n.t("{0} couldn’t be stopped, so it was not restarted.", plain(name)),
    plain(why, 500),
  );
}

/** Whether a run was started in this window; one of a terminal belongs to none. */
export function isOfThisWindow({ workspace }: Run): boolean {
  return workspace === windowName();
}
