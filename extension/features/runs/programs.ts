/** Which program a command is meant for. */

import { dirname } from "node:path";

import * as vscode from "vscode";

import { EaglerayError } from "../../common/errors";
import { setting } from "../../settings";
import { PLAIN, type Draft } from "./draft";

const RUNNABLE = ["python", "shellscript"];

/** The file of the menu, else the one in the editor, as a draft; undefined when neither can be run. */
export function draftOf(args: readonly unknown[]): Draft | undefined {
  const [given] = args;
  const file = given instanceof vscode.Uri ? given : fileInView();
  if (file?.scheme !== "file") {
    return undefined;
  }
  const folder = vscode.workspace.getWorkspaceFolder(file)?.uri.fsPath;
  return { ...emptyDraft(), path: file.fsPath, cwd: folder ?? dirname(file.fsPath) };
}

/** A draft of a command that is still to be typed. */
export function emptyDraft(): Draft {
  const cwd = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
  return { ...PLAIN, cwd, breakOnFailure: setting("runs.breakOnFailure") };
}

export function noProgram(): EaglerayError {
  return new EaglerayError(
    "no-program",
    "No Python file and no script is open that could be run.",
    "Open one, or give a command with “Run on Ray…”.",
  );
}

function fileInView(): vscode.Uri | undefined {
  const document = vscode.window.activeTextEditor?.document;
  const isRunnable =
    document !== undefined &&
    (RUNNABLE.includes(document.languageId) || /\.(slurm|sbatch)$/.test(document.uri.path));
  return isRunnable ? document.uri : undefined;
}
