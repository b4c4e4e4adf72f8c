/** Profiling: reports that are looked at, and the recording and gathering of those of a run. */

import * as vscode from "vscode";

import type { Disposable } from "../../common/disposables";
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
      }),
    ),
    ...commands(parts),
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

function commands(parts: Parts): Disposable[] {
  const { recordNow, stopRecording, finishAndGather, gatherReports, openReport } = COMMANDS;
  const ids = [recordNow, stopRecording, finishAndGather, gatherReports, openReport] as const;
  return ids.map((id) =>
    vscode.commands.registerCommand(id, (...args: unknown[]) =>
      parts.errors.shown("profiling", async () => {
        const { WORKS } = await import("./commands.js");
        await WORKS[id](parts, parts.selection.of(args));
      }),
    ),
  );
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
    const goesOn = profiled.runs.some(({ workers }) =>
      workers.some(({ state }) => state === "profiled" || state === "recording"),
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
