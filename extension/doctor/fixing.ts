/** Applies the settings of a cause to the options of a run: opens them, and starts nothing. */

import * as vscode from "vscode";

import type { App } from "../app";
import { plain } from "../common/texts";
import { COMMANDS } from "../contributions";
import { optionsOfRun } from "../runs/last_options";
import type { Run } from "../runs/messages";
import { runStateText } from "../runs/state_texts";
import { runName } from "../runs/worker_names";
import type { Cause, DiagnosisTarget } from "./messages";

/** Limit of the picker: the newest runs. */
const MOST_RUNS = 10;

/**
 * The run whose options are changed:
 *
 * 1. The diagnosed one.
 * 2. Of a cluster, a folder or a file: the user selects one that this workspace has started.
 */
export async function applyFix(app: App, target: DiagnosisTarget, cause: Cause): Promise<void> {
  const runs = await app.latestRuns();
  const own = runs.find(({ id }) => id === target.run_id);
  const run = own ?? (await selected(app, target, runs));
  if (run !== undefined) {
    const row = { row: "run", run, settings: cause.changes };
    await vscode.commands.executeCommand(COMMANDS.editAndRerun, row);
  }
}

async function selected(
  app: App,
  { cluster = "" }: DiagnosisTarget,
  runs: readonly Run[],
): Promise<Run | undefined> {
  const editable = runs.filter(({ id }) => optionsOfRun(app, id) !== undefined);
  const ofCluster = editable.filter((run) => cluster !== "" && run.cluster === cluster);
  const offered = (ofCluster.length > 0 ? ofCluster : editable).slice(0, MOST_RUNS);
  if (offered.length === 0) {
    void vscode.window.showInformationMessage(
      vscode.l10n.t("This workspace has no run to fix. Copy the setting instead."),
    );
    return undefined;
  }
  const items = offered.map((run) => ({
    label: plain(runName(run)),
    description: plain(runStateText(run)),
    run,
  }));
  const title = vscode.l10n.t("Select the Run to Fix");
  return (await vscode.window.showQuickPick(items, { title }))?.run;
}
