/** Ways to the file of a report for other programs, on this machine and on others. */

import * as vscode from "vscode";

import type { Action } from "../../error_messages";

/** Shows where the file lies: in the file manager, or in the editor’s own tree where that is on another machine. */
export async function revealReport(uri: vscode.Uri): Promise<void> {
  const command = vscode.env.remoteName === undefined ? "revealFileInOS" : "revealInExplorer";
  await vscode.commands.executeCommand(command, uri);
}

/** Brings it from another machine to the person’s own; none for a file that the editor’s tree does not have. */
export function downloadReport(uri: vscode.Uri): Action[] {
  const isFar = vscode.env.remoteName !== undefined;
  return isFar && vscode.workspace.getWorkspaceFolder(uri) !== undefined
    ? [{ title: "Download", run: () => download(uri) }]
    : [];
}

/** The editor downloads what is selected in its tree. */
async function download(uri: vscode.Uri): Promise<void> {
  await vscode.commands.executeCommand("revealInExplorer", uri);
  await vscode.commands.executeCommand("explorer.download");
}
