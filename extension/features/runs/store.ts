/** The newest list of runs that the sidecar sent. */

import type { CancellationToken } from "vscode";

import { Disposables, type Disposable } from "../../common/disposables";
import { asEaglerayError, EaglerayError } from "../../common/errors";
import { Store, type Readable } from "../../common/readable";
import { plain } from "../../common/texts";
import type { Parts } from "../../parts";
import { CHANGED, LIST, type Run, type Runs } from "./messages";
import { isLive } from "./model";

/** Runs are kept by the sidecar, so each start of it, as after a reload, brings them all again. */
export class RunsStore implements Disposable {
  private readonly store = new Store<Runs>({ runs: [] });
  private readonly listening: readonly Disposable[];

  constructor(private readonly parts: Parts) {
    this.listening = [
      parts.sidecar.onNotification(CHANGED, (runs) => {
        this.store.set(runs);
      }),
      parts.sidecar.onStarted(() => void this.askAnew()),
    ];
  }

  get runs(): Readable<Runs> {
    return this.store;
  }

  /** The list as it is now, also in a window that has needed no sidecar yet. */
  async now(): Promise<readonly Run[]> {
    this.store.set(await this.parts.sidecar.request(LIST, {}));
    return this.store.value.runs;
  }

  /** Resolves when a run goes on no more, and rejects when `cancel` says so first. */
  over(id: string, cancel: CancellationToken | undefined): Promise<void> {
    return this.until(id, cancel, (run) => run === undefined || !isLive(run));
  }

  /** The same of a run that was just asked to end; rejects as well when that came to nothing. */
  async stopped(id: string, cancel: CancellationToken | undefined): Promise<void> {
    await this.now();
    let isStopping = false;
    await this.until(id, cancel, (run) => {
      if (run === undefined || !isLive(run)) {
        return true;
      }
      const goesOn = run.state === "unwatched" || (isStopping && run.state !== "stopping");
      isStopping = run.state === "stopping";
      if (goesOn) {
        throw notStopped(run.name, run.note);
      }
      return false;
    });
  }

  /** Until `isDone` of the newest word of a run; what it throws is the answer. */
  private until(
    id: string,
    cancel: CancellationToken | undefined,
    isDone: (run: Run | undefined) => boolean,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const owned = new Disposables();
      const look = ({ runs }: Runs): void => {
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
      owned.add(this.store.onChanged(look));
      if (cancel !== undefined) {
        owned.add(
          cancel.onCancellationRequested(() => {
            owned.dispose();
            reject(new EaglerayError("cancelled", "It was cancelled."));
          }),
        );
      }
      look(this.store.value);
    });
  }

  dispose(): void {
    for (const one of this.listening) {
      one.dispose();
    }
  }

  private async askAnew(): Promise<void> {
    try {
      await this.now();
    } catch (error) {
      // The person asked for nothing; the next notification brings the list.
      this.parts.log.warn(`the runs could not be asked for: ${String(error)}`);
    }
  }
}

function notStopped(name: string, why: string): EaglerayError {
  return new EaglerayError(
    "not-stopped",
    `${plain(name)} could not be stopped, and was not started again.`,
    plain(why, 500),
  );
}
