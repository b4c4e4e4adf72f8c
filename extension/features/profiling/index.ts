/** Profiling: reports that are looked at, and the recording and gathering of those of a run. */

import * as vscode from "vscode";

import { registerCommands } from "../../commands";
import type { Disposable } from "../../common/disposables";
import { isRow } from "../../common/rows";
import { COMMANDS, EDITORS } from "../../contributions";
import { setContextKey } from "../../context_keys";
import type { Parts } from "../../parts";
import type { ProfiledRuns } from "./messages";

/** Nothing else of this feature is loaded before it is used. */
export function register(parts: Parts): Disposable[] {
  const reports = new Reports(parts);
  return [
    ...Object.values(EDITORS).map((id) =>
      vscode.window.registerCustomEditorProvider(id, reports, {
        supportsMultipleEditorsPerDocument: true,
        webviewOptions: { enableFindWidget: true },
      }),
    ),
    ...registerCommands(parts, () => import("./commands.js"), [
      [
        COMMANDS.recordNow,
        "starting a recording",
        (to, rows, [row]) => to.record(parts, rows, isRow(row)),
      ],
      [
        COMMANDS.stopRecording,
        "ending a recording",
        (to, rows, [row]) => to.stop(parts, rows, isRow(row)),
      ],
      [COMMANDS.finishAndGather, "gathering reports", (to, rows) => to.finish(parts, rows)],
      [COMMANDS.gatherReports, "gathering reports", (to, rows) => to.gather(parts, rows)],
      [COMMANDS.openReport, "opening a report", (to, rows) => to.open(parts, rows)],
    ]),
    new Following(parts),
  ];
}

class Reports implements vscode.CustomReadonlyEditorProvider {
  constructor(private readonly parts: Parts) {}

  openCustomDocument(uri: vscode.Uri): vscode.CustomDocument {
    return { uri, dispose: () => undefined };
  }

  async resolveCustomEditor(
    { uri }: vscode.CustomDocument,
    panel: vscode.WebviewPanel,
  ): Promise<void> {
    const { showReport } = await import("./report_panel.js");
    showReport(this.parts, uri, panel);
  }
}

/** Looks at the list of profiled runs; from the first one on somebody tells what becomes of it. */
class Following implements Disposable {
  private readonly listening: Disposable;
  private telling: Promise<Disposable> | undefined;

  constructor(private readonly parts: Parts) {
    this.listening = parts.profiled.onChanged((profiled) => {
      this.take(profiled);
    });
  }

  dispose(): void {
    this.listening.dispose();
    void this.telling?.then((telling) => telling.dispose());
  }

  private take(profiled: ProfiledRuns): void {
    // A worker whose reports are all here can record once more, as long as its run goes on.
    const goesOn = profiled.runs.some(
      ({ state, workers }) =>
        state !== "gathered" && workers.some((worker) => worker.state !== "missing"),
    );
    setContextKey("eagleray.hasProfiled", goesOn);
    if (profiled.runs.length > 0) {
      this.telling ??= this.tell(profiled);
    }
  }

  private async tell(first: ProfiledRuns): Promise<Disposable> {
    const { Telling } = await import("./telling.js");
    return new Telling(this.parts, first);
  }
}
