/** The rules of a team that a restricted window ignores: a diagnosis lists their files as not checked. */

import { join } from "node:path";

import * as vscode from "vscode";

import { workspaceFolders } from "../workspace";
import type { Diagnosis } from "./messages";

/** Where a team keeps its rules (doctor/rule_files.py). */
const RULES = join(".eagleray", "doctor-rules.json");

export async function withIgnoredRules(diagnosis: Diagnosis): Promise<Diagnosis> {
  if (vscode.workspace.isTrusted) {
    return diagnosis;
  }
  const paths = workspaceFolders().map((folder) => join(folder, RULES));
  const exist = await Promise.all(paths.map(isFile));
  const reason = vscode.l10n.t("Trust this workspace to use its rules.");
  const ignored = paths.filter((_, at) => exist[at]).map((path) => ({ path, reason }));
  const { checked } = diagnosis;
  return {
    ...diagnosis,
    checked: { ...checked, unchecked: [...ignored, ...checked.unchecked] },
  };
}

async function isFile(path: string): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(vscode.Uri.file(path));
    return true;
  } catch {
    return false;
  }
}
