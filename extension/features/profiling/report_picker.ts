/** Opens a report in its page. */

import { basename } from "node:path";

import * as vscode from "vscode";

import { plain } from "../../common/texts";
import { EDITORS } from "../../contributions";
import type { GatheredReport } from "./targets_model";

export async function openReport(path: string): Promise<void> {
  const editor = path.endsWith(".nsys-rep") ? EDITORS.report : EDITORS.database;
  await vscode.commands.executeCommand("vscode.openWith", vscode.Uri.file(path), editor);
}

/** The only one, else the one that the person picks; without any, one that they look for, from `folder` on. */
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
