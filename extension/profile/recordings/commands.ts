/** The commands of profiled runs: record, finish, gather, open a report; errors go to the caller. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { withEach } from "../../common/errors";
import { plain } from "../../common/texts";
import { isConfirmed, longWork } from "../../dialogs";
import type { Row } from "../../rows";
import { LIST as RUNS, type Run } from "../../runs/messages";
import { isLive } from "../../runs/states";
import { noReportSentence, openReport, openReportOf } from "./gathered_reports";
import { GATHER, LIST, RECORD, STOP } from "./messages";
import { reportsOf, targetsOf, type RecordingTarget } from "./recording_targets";

/** How long the status bar shows what was requested. */
const SHOWN_MS = 5000;

/** `isMeant`: it was called on the rows, and not with whatever is selected somewhere. */
export async function record(app: App, rows: readonly Row[], isMeant: boolean): Promise<void> {
  const chosen = await recordable(app, rows, isMeant, vscode.l10n.t("Select a run to record"));
  let workers = 0;
  await withEach(chosen.targets, chosen.nameOf, async (target) => {
    const response = await longWork(vscode.l10n.t("Starting a recording"), (options) =>
      app.sidecar.request(RECORD, target, options),
    );
    workers += response.workers;
    vscode.window.setStatusBarMessage(
      workers === 1
        ? vscode.l10n.t("Starting to record 1 worker")
        : vscode.l10n.t("Starting to record {0} workers", workers),
      SHOWN_MS,
    );
  });
}

export async function stop(app: App, rows: readonly Row[], isMeant: boolean): Promise<void> {
  const chosen = await recordable(
    app,
    rows,
    isMeant,
    vscode.l10n.t("Select a run to stop recording"),
  );
  await withEach(chosen.targets, chosen.nameOf, (target) =>
    longWork(vscode.l10n.t("Stopping the recording"), (options) =>
      app.sidecar.request(STOP, target, options),
    ),
  );
}

export function finish(app: App, rows: readonly Row[]): Promise<void> {
  return gathered(app, rows, true);
}

export function gather(app: App, rows: readonly Row[]): Promise<void> {
  return gathered(app, rows, false);
}

/** The notifier shows the result, as it does for reports that are gathered automatically. */
async function gathered(app: App, rows: readonly Row[], finish: boolean): Promise<void> {
  const fits = finish ? isLive : (): boolean => true;
  const selected = await targets(app, rows, vscode.l10n.t("Select a run with reports"), fits);
  const { targets: chosen, nameOf } = selected;
  if (chosen.length === 0 || (finish && !(await isFinishing(selected)))) {
    return;
  }
  await withEach(chosen, nameOf, ({ run }) =>
    longWork(
      finish
        ? vscode.l10n.t("Stopping and downloading reports")
        : vscode.l10n.t("Downloading reports"),
      (options) => app.sidecar.request(GATHER, { run, finish }, options),
    ),
  );
}

/** One question for all of them, with what the end of a program asks for. */
function isFinishing({ targets, nameOf, runOf }: SelectedRuns): Promise<boolean> {
  const names = targets.map(nameOf);
  const [first = ""] = names;
  const isSingle = names.length === 1;
  const detail = isSingle
    ? vscode.l10n.t("Eagleray stops its recordings, downloads the reports, and ends the program.")
    : `${vscode.l10n.t("Eagleray stops their recordings, downloads the reports, and ends the programs:")}\n${names.join("\n")}`;
  const asking = targets.flatMap((target) => runOf(target)?.confirm_stop || []);
  const question = isSingle
    ? vscode.l10n.t("Stop {0}?", first)
    : vscode.l10n.t("Stop {0} runs?", names.length);
  return isConfirmed(
    question,
    [detail, ...asking].join("\n"),
    vscode.l10n.t("Stop and Download Reports"),
  );
}

/** Without a row, opens a file that the user chooses. */
export async function open(app: App, rows: readonly Row[]): Promise<void> {
  const profiled = app.profiled.value;
  const [row] = rows;
  if (row?.row === "runReport") {
    await openReport(row.path);
    return;
  }
  const named = targetsOf(rows, profiled);
  const reports = named.flatMap((target) => reportsOf(target, profiled));
  if (named.length > 0 && reports.length === 0) {
    void vscode.window.showInformationMessage(noReportSentence(named, profiled));
  } else {
    await openReportOf(reports, profiled.runs[0]?.output);
  }
}

interface SelectedRuns {
  readonly targets: readonly RecordingTarget[];
  readonly nameOf: (target: RecordingTarget) => string;
  readonly runOf: (target: RecordingTarget) => Run | undefined;
}

/** Selected workers without nsys give a message; no other worker is recorded instead. */
async function recordable(
  app: App,
  rows: readonly Row[],
  isMeant: boolean,
  title: string,
): Promise<SelectedRuns> {
  if (isMeant && targetsOf(rows, await app.sidecar.request(LIST, {})).length === 0) {
    void vscode.window.showInformationMessage(
      vscode.l10n.t(
        "These workers don’t run under nsys. Start their program with “Profile on Ray…” and select them.",
      ),
    );
    return { targets: [], nameOf: () => "", runOf: () => undefined };
  }
  return await targets(app, rows, title, isLive);
}

/** The targets of the rows; without any, the only profiled run that fits, or the one that the user picks. */
async function targets(
  app: App,
  rows: readonly Row[],
  title: string,
  fits: (run: Run) => boolean,
): Promise<SelectedRuns> {
  const profiled = await app.sidecar.request(LIST, {});
  const { runs } = await app.sidecar.request(RUNS, {});
  const runOf = ({ run }: RecordingTarget): Run | undefined => runs.find(({ id }) => id === run);
  const nameOf = (target: RecordingTarget): string => plain(runOf(target)?.name ?? target.run);
  const named = targetsOf(rows, profiled);
  if (named.length > 0) {
    return { targets: named, nameOf, runOf };
  }
  const items = runs
    .filter((run) => fits(run) && profiled.runs.some((profiledRun) => profiledRun.run === run.id))
    .map(({ id, name, command }) => ({ label: plain(name), description: plain(command), id }));
  if (items.length === 0) {
    void vscode.window.showInformationMessage(vscode.l10n.t("No run is being profiled."));
  }
  const picked =
    items.length < 2
      ? items[0]
      : await vscode.window.showQuickPick(items, { title, matchOnDescription: true });
  const target = picked && { run: picked.id, workers: [] };
  return { targets: target === undefined ? [] : [target], nameOf, runOf };
}
