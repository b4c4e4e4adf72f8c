/** The commands about runs that are profiled: recording, gathering, opening what was gathered; errors are for the caller. */

import * as vscode from "vscode";

import type { Row } from "../../common/rows";
import { count, plain } from "../../common/texts";
import { longWork } from "../../long_work";
import type { Parts } from "../../parts";
import { LIST as RUNS } from "../runs/messages";
import { noReportSentence } from "./gathered_model";
import { GATHER, LIST, RECORD, STOP } from "./messages";
import { openOneOf } from "./opening";
import { reportsOf, targetsOf, type Target } from "./targets_model";

export async function record(parts: Parts, rows: readonly Row[]): Promise<void> {
  for (const target of await targets(parts, rows, "Record which run?")) {
    const asked = await longWork("Starting a recording", (options) =>
      parts.sidecar.request(RECORD, target, options),
    );
    vscode.window.setStatusBarMessage(`${count(asked.workers, "worker")} asked to record`, 5000);
  }
}

export async function stop(parts: Parts, rows: readonly Row[]): Promise<void> {
  for (const target of await targets(parts, rows, "Stop recording which run?")) {
    await longWork("Ending the recording", (options) =>
      parts.sidecar.request(STOP, target, options),
    );
  }
}

export function finish(parts: Parts, rows: readonly Row[]): Promise<void> {
  return gathered(parts, rows, true);
}

export function gather(parts: Parts, rows: readonly Row[]): Promise<void> {
  return gathered(parts, rows, false);
}

/** What becomes of it is told by the list of profiled runs, as that of a gathering nobody asked for is. */
async function gathered(parts: Parts, rows: readonly Row[], finish: boolean): Promise<void> {
  for (const { run } of await targets(parts, rows, "The reports of which run?")) {
    if (!finish || (await isConfirmed())) {
      await longWork(finish ? "Finishing and gathering" : "Gathering reports", (options) =>
        parts.sidecar.request(GATHER, { run, finish }, options),
      );
    }
  }
}

async function isConfirmed(): Promise<boolean> {
  const yes = "Finish and Gather";
  const detail = "Its recordings end, their reports are fetched, and then the program is ended.";
  const options = { modal: true, detail };
  return (await vscode.window.showWarningMessage("Finish this run?", options, yes)) === yes;
}

/** Without a row a file that the person chooses. */
export async function open(parts: Parts, rows: readonly Row[]): Promise<void> {
  const profiled = parts.profiled.value;
  const named = targetsOf(rows, profiled);
  const reports = named.flatMap((target) => reportsOf(target, profiled));
  if (named.length > 0 && reports.length === 0) {
    void vscode.window.showInformationMessage(noReportSentence(named, profiled));
  } else {
    await openOneOf(reports, profiled.runs[0]?.output);
  }
}

/** Those of the rows; without any the only profiled run, else the one that the person picks. */
async function targets(parts: Parts, rows: readonly Row[], title: string): Promise<Target[]> {
  const profiled = await parts.sidecar.request(LIST, {});
  const named = targetsOf(rows, profiled);
  if (named.length > 0) {
    return named;
  }
  const { runs } = await parts.sidecar.request(RUNS, {});
  const items = profiled.runs.map(({ run }) => {
    const known = runs.find(({ id }) => id === run);
    return { label: plain(known?.name ?? run), description: plain(known?.command ?? ""), run };
  });
  if (items.length === 0) {
    void vscode.window.showInformationMessage("No run is profiled.");
  }
  const picked =
    items.length < 2
      ? items[0]
      : await vscode.window.showQuickPick(items, { title, matchOnDescription: true });
  return picked === undefined ? [] : [{ run: picked.run, workers: [] }];
}
