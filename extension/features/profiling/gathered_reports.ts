/** Gathered reports: messages about them, and opening one in its page. */

import { basename } from "node:path";

import * as vscode from "vscode";

import { count, plain } from "../../common/texts";
import { EDITORS } from "../../contributions";
import type { ProfiledRun, ProfiledRuns } from "./messages";
import type { GatheredReport } from "./recording_targets";

async function openReport(path: string): Promise<void> {
  const editor = path.endsWith(".nsys-rep") ? EDITORS.report : EDITORS.database;
  await vscode.commands.executeCommand("vscode.openWith", vscode.Uri.file(path), editor);
}

/** Opens the only report, or the one that the user picks; without any, a file that they choose, from `folder` on. */
export async function openOneOf(
  reports: readonly GatheredReport[],
  folder?: string,
): Promise<void> {
  const [first] = reports;
  if (first === undefined || reports.length === 1) {
    await (first === undefined ? askForFile(folder) : openReport(first.path));
    return;
  }
  const items = reports.map(({ path, whose }) => ({
    label: plain(basename(path)),
    description: whose,
    path,
  }));
  const options = { title: "Open which report?", matchOnDescription: true };
  const picked = await vscode.window.showQuickPick(items, options);
  if (picked !== undefined) {
    await openReport(picked.path);
  }
}

async function askForFile(folder: string | undefined): Promise<void> {
  const picked = await vscode.window.showOpenDialog({
    title: "Open a report of nsys",
    ...(folder === undefined ? {} : { defaultUri: vscode.Uri.file(folder) }),
    filters: { "Reports of nsys": ["nsys-rep", "sqlite"] },
  });
  if (picked?.[0] !== undefined) {
    await openReport(picked[0].fsPath);
  }
}

/** Those that a change of the list has finished; what was so in the first list is no news. */
export function newlyGathered(before: ProfiledRuns, now: ProfiledRuns): ProfiledRun[] {
  const states = new Map(before.runs.map(({ run, state }) => [run, state]));
  return now.runs.filter(
    ({ run, state }) =>
      (state === "gathered" || state === "failed") && states.has(run) && states.get(run) !== state,
  );
}

/** The message at the end of a gathering. */
export function gatheredSentence(run: ProfiledRun): string {
  const { state, gathered, expected, sentence } = run;
  if (state === "failed") {
    return plain(`The reports were not gathered: ${sentence}`, 600);
  }
  if (isEmpty(run)) {
    return plain(`No report was gathered. ${sentence || noReason(run)}`, 600);
  }
  const part =
    gathered < expected ? `${gathered} of ${count(expected, "report")}` : count(gathered, "report");
  return plain(`${part} gathered. ${gathered < expected ? sentence : ""}`, 600);
}

/** Whether there is nothing to be opened, and nothing that could have been fetched. */
export function isEmpty({ gathered, expected }: ProfiledRun): boolean {
  return gathered === 0 && expected === 0;
}

/** Why no report of these is here. */
export function noReportSentence(
  named: readonly { readonly run: string }[],
  { runs }: ProfiledRuns,
): string {
  const run = runs.find((profiled) => named.some((target) => target.run === profiled.run));
  const isOver = run?.state === "gathered" || run?.state === "failed";
  const reason = run === undefined ? "" : isOver ? gatheredSentence(run) : run.sentence;
  const hint = "“Record Now” and “Stop Recording” make one; it comes here by itself.";
  return plain(isOver ? reason : `No report is here yet. ${reason || hint}`, 600);
}

function noReason({ workers }: ProfiledRun): string {
  return workers.length === 0 ? "No worker was profiled." : "Nothing was recorded.";
}
