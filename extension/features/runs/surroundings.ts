/** Where a run begins: the folder of the window, and the Python of the person's programs. */

import { existsSync } from "node:fs";
import { join } from "node:path";

import * as vscode from "vscode";

import { activeEnvironment } from "../../python_extension";
import { setting } from "../../settings";
import type { Run } from "./messages";

/** The name by which the runs of this window are known: its folder, so that they are its own after a reload too. */
export function windowName(): string {
  return workspaceFolder() || `window ${vscode.env.sessionId}`;
}

/** Whether a run was started in this window; one of a terminal belongs to none. */
export function isOfThisWindow({ workspace }: Run): boolean {
  return workspace === windowName();
}

/** The first folder of the window; "" for a window without one. */
export function workspaceFolder(): string {
  const [first] = (vscode.workspace.workspaceFolders ?? []).filter(
    ({ uri }) => uri.scheme === "file",
  );
  return first?.uri.fsPath ?? "";
}

/** The setting, else what the Python extension has chosen, else the `.venv` of the folder, else "": that of the PATH. */
export async function programPython(): Promise<string> {
  const named = setting("runs.python").trim();
  return named || ((await activeEnvironment()) ?? venvOf(workspaceFolder()));
}

function venvOf(folder: string): string {
  const python = join(folder, ".venv", "bin", "python");
  return folder !== "" && existsSync(python) ? python : "";
}
