/** Opens a report in its page. */

import { basename } from "node:path";

import * as vscode from "vscode";

import { plain } from "../../common/texts";
import { EDITORS } from "../../contributions";

export async function openReport(path: string): Promise<void> {
  const editor = path.endsWith(".nsys-rep") ? EDITORS.report : EDITORS.database;
  await vscode.commands.executeCommand("vscode.openWith", vscode.Uri.file(path), editor);
}

/** The only one, else the one that the person picks. */
export async function openOneOf(paths: readonly string[]): Promise<void> {
  const [first] = paths;
  if (first === undefined || paths.length === 1) {
    await (first === undefined ? askForFile() : openReport(first));
    return;
  }
  const items = paths.map((path) => ({ label: plain(basename(path)), path }));
  const picked = await vscode.window.showQuickPick(items, { title: "Open which report?" });
  if (picked !== undefined) {
    await openReport(picked.path);
  }
}

async function askForFile(): Promise<void> {
  const picked = await vscode.window.showOpenDialog({
    title: "Open a report of nsys",
    filters: { "Reports of nsys": ["nsys-rep", "sqlite"] },
  });
  if (picked?.[0] !== undefined) {
    await openReport(picked[0].fsPath);
  }
}
