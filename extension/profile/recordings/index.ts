/** Profiling: recording the workers of a run with nsys, and gathering their reports. */

import type { App } from "../../app";
import { registerCommands } from "../../commands";
import type { Disposable } from "../../common/disposables";
import { COMMANDS } from "../../contributions";
import { isRow } from "../../rows";
import { setContextKey } from "../../settings";
import type { ProfiledRuns } from "./messages";

/** Nothing else of this feature is loaded before it is used. */
export function register(app: App): Disposable[] {
  return [
    ...registerCommands(app, () => import("./commands.js"), [
      [
        COMMANDS.recordNow,
        "starting a recording",
        (to, rows, [row]) => to.record(app, rows, isRow(row)),
      ],
      [
        COMMANDS.stopRecording,
        "ending a recording",
        (to, rows, [row]) => to.stop(app, rows, isRow(row)),
      ],
      [COMMANDS.finishAndDownload, "gathering reports", (to, rows) => to.finish(app, rows)],
      [COMMANDS.downloadReports, "gathering reports", (to, rows) => to.gather(app, rows)],
      [COMMANDS.openReport, "opening a report", (to, rows) => to.open(app, rows)],
    ]),
    new ProfiledRunsWatcher(app),
  ];
}

/** Follows the list of profiled runs; the notifier is read when the first run is listed. */
class ProfiledRunsWatcher implements Disposable {
  private readonly listening: Disposable;
  private notifier: Promise<Disposable> | undefined;

  constructor(private readonly app: App) {
    this.listening = app.profiled.onChanged((profiled) => {
      this.update(profiled);
    });
  }

  dispose(): void {
    this.listening.dispose();
    void this.notifier?.then((telling) => telling.dispose());
  }

  private update(profiled: ProfiledRuns): void {
    // A worker whose reports are all gathered can record again while its run is live.
    const goesOn = profiled.runs.some(
      ({ state, workers }) =>
        state !== "gathered" && workers.some((worker) => worker.state !== "missing"),
    );
    setContextKey("eagleray.hasProfiled", goesOn);
    if (profiled.runs.length > 0) {
      this.notifier ??= this.startNotifier(profiled);
    }
  }

  private async startNotifier(first: ProfiledRuns): Promise<Disposable> {
    const { ReportNotifier } = await import("./gathered_reports.js");
    return new ReportNotifier(this.app, first);
  }
}
