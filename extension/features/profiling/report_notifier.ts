/** Notifies about gathered reports, and offers to open them. */

import * as vscode from "vscode";

import type { App } from "../../app";
import type { Disposable } from "../../common/disposables";
import { windowName } from "../../workspace";
import { LIST as RUNS } from "../runs/messages";
import { gatheredSentence, isEmpty, newlyGathered, openOneOf } from "./gathered_reports";
import type { ProfiledRun, ProfiledRuns } from "./messages";
import { reportsOf } from "./recording_targets";

const OPEN_REPORT = "Open Report";
const OPEN_FOLDER = "Open Folder";

/** Follows the list, from the first one that has come. */
export class ReportNotifier implements Disposable {
  private readonly listening: Disposable;

  constructor(
    private readonly app: App,
    private before: ProfiledRuns,
  ) {
    this.listening = app.profiled.onChanged((now) => {
      const ended = newlyGathered(this.before, now);
      this.before = now;
      void app.errors.shown("telling of reports", () => this.announce(ended));
    });
  }

  dispose(): void {
    this.listening.dispose();
  }

  /** In the window that started it, and of a terminal’s run in each. */
  private async announce(ended: readonly ProfiledRun[]): Promise<void> {
    if (ended.length === 0) {
      return;
    }
    const { runs } = await this.app.sidecar.request(RUNS, {});
    for (const run of ended) {
      const workspace = runs.find(({ id }) => id === run.run)?.workspace ?? "";
      if (workspace === "" || workspace === windowName()) {
        void this.app.errors.shown("telling of reports", () => this.notify(run));
      }
    }
  }

  private async notify(run: ProfiledRun): Promise<void> {
    const reports = reportsOf({ run: run.run, workers: [] }, { runs: [run] });
    const show =
      run.state === "gathered" && !isEmpty(run)
        ? vscode.window.showInformationMessage
        : vscode.window.showWarningMessage;
    const buttons = reports.length === 0 ? [] : [OPEN_REPORT, OPEN_FOLDER];
    const answer = await show(gatheredSentence(run), ...buttons);
    if (answer === OPEN_REPORT) {
      await openOneOf(reports);
    } else if (answer === OPEN_FOLDER) {
      await openFolder(run.output);
    }
  }
}

/** In the file manager; where that is another machine’s, the editor’s own view of the folder. */
async function openFolder(folder: string): Promise<void> {
  const uri = vscode.Uri.file(folder);
  if (vscode.env.remoteName === undefined) {
    await vscode.env.openExternal(uri);
  } else {
    await vscode.commands.executeCommand("revealInExplorer", uri);
  }
}
