/** One message for each run of this window that fails: why, and what to do next. */

import * as vscode from "vscode";

import type { App } from "../app";
import { asEaglerayError } from "../common/errors";
import { plain } from "../common/texts";
import { COMMANDS } from "../contributions";
import { shortPlace } from "../debug/workers/names";
import { DIAGNOSE } from "../doctor/messages";
import { ruleFolders } from "../workspace";
import type { Run } from "./messages";
import { optionsOfRun } from "./last_options";
import { failureReason } from "./rows";
import { isOfThisWindow } from "./run_list";
import { runStateText } from "./state_texts";
import { FRAME } from "./traceback_links";

/** The message waits so long for the cause. */
const DIAGNOSIS_MS = 5_000;
/** Files that the user hasn't written. */
const INSTALLED = /\/(site-packages|dist-packages|\.venv|venv)\//;

export class FailureMessages {
  private readonly announced = new Set<string>();

  /** `started` holds the ids of runs that this window has started; failures before `since_s` are old. */
  constructor(
    private readonly app: App,
    private readonly started: ReadonlySet<string>,
    private readonly since_s: number,
  ) {}

  update(runs: readonly Run[]): void {
    for (const run of runs) {
      const isOurs = isOfThisWindow(run) || this.started.has(run.id);
      const isNew = run.ended >= this.since_s && !this.announced.has(run.id);
      if (run.state === "failed" && isOurs && isNew) {
        this.announced.add(run.id);
        void this.announce(run);
      }
    }
  }

  private async announce(run: Run): Promise<void> {
    const cause = await this.causeOf(run);
    await show(run, cause, optionsOfRun(this.app, run.id) !== undefined);
  }

  /** The first cause that a rule of the doctor names; "" without any, and where the logs take long. */
  private async causeOf(run: Run): Promise<string> {
    if (run.server !== null) {
      return "";
    }
    const cancel = new vscode.CancellationTokenSource();
    const timer = setTimeout(() => {
      cancel.cancel();
    }, DIAGNOSIS_MS);
    try {
      const target = { run_id: run.id, ...ruleFolders() };
      const { causes } = await this.app.sidecar.request(DIAGNOSE, target, { cancel: cancel.token });
      const [first] = causes;
      return first?.severity === "error" ? first.sentence : "";
    } catch (error) {
      this.app.log.info(`the cause of run ${run.id}: ${asEaglerayError(error).code}`);
      return "";
    } finally {
      clearTimeout(timer);
      cancel.dispose();
    }
  }
}

/** "train.py failed: ValueError: bad reward (train.py:19)"; `cause` is the sentence of the doctor, "" if it knows none. */
export function failureSentence(run: Run, cause = ""): string {
  const reason = cause || failureReason(run);
  const name = plain(run.name);
  if (reason === "") {
    return vscode.l10n.t("{0} {1}.", name, runStateText(run));
  }
  const sentence = vscode.l10n.t("{0} failed: {1}", name, plain(reason, 300));
  const place = cause === "" ? raisedAt(run) : "";
  return place === "" ? sentence : `${sentence} (${plain(place)})`;
}

/** "train.py:19", the innermost frame of the last traceback in a file of the user; "" if there is none. */
function raisedAt({ tail, cwd, workspace }: Run): string {
  const folders = [cwd, workspace].filter((folder) => folder !== "");
  const [, path = "", line] =
    [...tail.matchAll(FRAME)].findLast(([, file = ""]) => {
      const isOwn =
        !file.startsWith("/") || folders.some((folder) => file.startsWith(`${folder}/`));
      return isOwn && !INSTALLED.test(file) && !file.startsWith("<");
    }) ?? [];
  return path === "" ? "" : shortPlace(path, Number(line));
}

/** A run whose options are not known is started again as it was. */
async function show(run: Run, cause: string, isEditable: boolean): Promise<void> {
  const output = vscode.l10n.t("Show Output");
  const rerun = isEditable ? vscode.l10n.t("Edit and Rerun…") : vscode.l10n.t("Rerun");
  const diagnose = vscode.l10n.t("Diagnose");
  const buttons = [output, diagnose, rerun];
  const answer = await vscode.window.showErrorMessage(failureSentence(run, cause), ...buttons);
  const row = { row: "run", run };
  if (answer === output) {
    await vscode.commands.executeCommand(COMMANDS.showOutput, row);
  } else if (answer === diagnose) {
    await vscode.commands.executeCommand(COMMANDS.diagnose, row);
  } else if (answer === rerun) {
    const command = isEditable ? COMMANDS.editAndRerun : COMMANDS.restartRun;
    await vscode.commands.executeCommand(command, row);
  }
}
