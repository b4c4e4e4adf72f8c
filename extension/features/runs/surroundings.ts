/** Where a run begins: in which window, and with which Python. */

import { existsSync } from "node:fs";
import { join } from "node:path";

import { setting } from "../../settings";
import { activeEnvironment, windowName, workspaceFolder } from "../../workspace";
import type { Run } from "./messages";

/** Whether a run was started in this window; one of a terminal belongs to none. */
export function isOfThisWindow({ workspace }: Run): boolean {
  return workspace === windowName();
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
