/** Gathered reports: notifications about them, and opening one in its page. */

import { basename } from "node:path";

import * as vscode from "vscode";

import type { App } from "../../app";
import type { Disposable } from "../../common/disposables";
import { dotted, plain } from "../../common/texts";
import { COMMANDS, EDITORS } from "../../contributions";
import { windowName } from "../../workspace";
import { optionsOfRun } from "../../runs/last_options";
import { LIST as RUNS, type Run } from "../../runs/messages";
import { runLacksNsys } from "../../runs/recording_texts";
import { askForPath } from "../../typed_paths";
import type { ProfiledRun, ProfiledRuns } from "./messages";
import { reportsOf, type GatheredReport } from "./recording_targets";

export async function openReport(path: string): Promise<void> {
  const editor = path.endsWith(".nsys-rep") ? EDITORS.report : EDITORS.database;
  await vscode.commands.executeCommand("vscode.openWith", vscode.Uri.file(path), editor);
}

/** Opens the only report, or the one that the user picks; without any, a file that they choose, from `folder` on. */
export async function openReportOf(
  reports: readonly GatheredReport[],
  folder?: string,
): Promise<void> {
  const [first] = reports;
  if (first === undefined || reports.length === 1) {
    await (first === undefined ? askForFile(folder) : openReport(first.path));
    return;
  }
  const items = reports.map(({ path, worker, node }) => {
    const file = plain(basename(path));
    return { label: worker || file, description: dotted(node, worker && file), path };
  });
  const options = { title: vscode.l10n.t("Select a report"), matchOnDescription: true };
  const picked = await vscode.window.showQuickPick(items, options);
  if (picked !== undefined) {
    await openReport(picked.path);
  }
}

async function askForFile(folder: string | undefined): Promise<void> {
  const picked = await askForPath({
    title: vscode.l10n.t("Open an nsys report"),
    kind: "file",
    listed: "**/*.nsys-rep",
    ...(folder !== undefined && { start: folder }),
    filters: { [vscode.l10n.t("nsys reports")]: ["nsys-rep", "sqlite"] },
  });
  if (picked !== undefined) {
    await openReport(picked);
  }
}

/** The runs whose gathering has ended between two lists. */
export function newlyGathered(before: ProfiledRuns, now: ProfiledRuns): ProfiledRun[] {
  const states = new Map(before.runs.map(({ run, state }) => [run, state]));
  return now.runs.filter(
    ({ run, state }) =>
      (state === "gathered" || state === "failed") && states.has(run) && states.get(run) !== state,
  );
}

/** The message at the end of a gathering; `name` is the run's, "" if unknown. */
export function gatheredSentence(run: ProfiledRun, name = ""): string {
  const { state, gathered, expected, sentence } = run;
  if (state === "failed") {
    return plain(vscode.l10n.t("The reports were not downloaded: {0}", sentence), 600);
  }
  if (isEmpty(run)) {
    const reason = sentence || noReason(run);
    return name === ""
      ? plain(vscode.l10n.t("No report was downloaded. {0}", reason), 600)
      : plain(vscode.l10n.t("{0} has no report. {1}", name, reason), 600);
  }
  const downloaded =
    gathered < expected
      ? vscode.l10n.t("Downloaded {0} of {1} reports. {2}", gathered, expected, sentence)
      : gathered === 1
        ? vscode.l10n.t("Downloaded 1 report.")
        : vscode.l10n.t("Downloaded {0} reports.", gathered);
  return plain(downloaded, 600);
}

/** Whether no report was gathered and none was expected. */
function isEmpty({ gathered, expected }: ProfiledRun): boolean {
  return gathered === 0 && expected === 0;
}

/** The reason why none of these runs has a report. */
export function noReportSentence(
  named: readonly { readonly run: string }[],
  { runs }: ProfiledRuns,
): string {
  const run = runs.find((profiled) => named.some((target) => target.run === profiled.run));
  const isOver = run?.state === "gathered" || run?.state === "failed";
  const reason = run === undefined ? "" : isOver ? gatheredSentence(run) : run.sentence;
  const hint = vscode.l10n.t("Start and stop a recording. Its report is downloaded automatically.");
  return plain(isOver ? reason : vscode.l10n.t("No report yet. {0}", reason || hint), 600);
}

function noReason(run: ProfiledRun): string {
  const [first] = run.workers;
  if (first === undefined) {
    return vscode.l10n.t("No worker was profiled.");
  }
  return (runLacksNsys(run) && first.sentence) || vscode.l10n.t("Nothing was recorded.");
}

const OPEN_REPORT = vscode.l10n.t("Open Report");
const OPEN_FOLDER = vscode.l10n.t("Open Folder");
const DOWNLOAD = vscode.l10n.t("Download Reports");
const EDIT_AND_RERUN = vscode.l10n.t("Edit and Rerun…");

/** Follows the list, from the first one that was received. */
export class ReportNotifier implements Disposable {
  private readonly listening: Disposable;

  constructor(
    private readonly app: App,
    private before: ProfiledRuns,
  ) {
    this.listening = app.profiled.onChanged((now) => {
      const ended = newlyGathered(this.before, now);
      this.before = now;
      void app.errors.shown("announcing reports", () => this.announce(ended));
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
      const started = runs.find(({ id }) => id === run.run);
      const workspace = started?.workspace ?? "";
      if (workspace === "" || workspace === windowName()) {
        void this.app.errors.shown("announcing reports", () => this.notify(run, started));
      }
    }
  }

  private async notify(run: ProfiledRun, started: Run | undefined): Promise<void> {
    const reports = reportsOf({ run: run.run, workers: [] }, { runs: [run] });
    const show =
      run.state === "gathered" && !isEmpty(run)
        ? vscode.window.showInformationMessage
        : vscode.window.showWarningMessage;
    const isEditable = started !== undefined && optionsOfRun(this.app, run.run) !== undefined;
    const again = run.state === "failed" && started !== undefined ? [DOWNLOAD] : [];
    const without = isEditable ? [EDIT_AND_RERUN] : [];
    const buttons = [...again, ...(reports.length === 0 ? without : [OPEN_REPORT, OPEN_FOLDER])];
    const answer = await show(gatheredSentence(run, started?.name), ...buttons);
    if (answer === OPEN_REPORT) {
      await openReportOf(reports);
    } else if (answer === OPEN_FOLDER) {
      await openFolder(run.output);
    } else if (answer === DOWNLOAD) {
      await vscode.commands.executeCommand(COMMANDS.downloadReports, { row: "run", run: started });
    } else if (answer === EDIT_AND_RERUN) {
      await vscode.commands.executeCommand(COMMANDS.editAndRerun, { row: "run", run: started });
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
