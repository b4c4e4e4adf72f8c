/** A question for files or a folder: a dialog of Linux or Windows can't offer both. */

import * as vscode from "vscode";

interface Dialog {
  readonly title: string;
  readonly openLabel: string;
  readonly canSelectMany: boolean;
}

/** The user's selection; empty if the user cancels. */
export async function selectedFilesOrFolder(dialog: Dialog): Promise<readonly vscode.Uri[]> {
  const rows = [
    { label: vscode.l10n.t("$(file) Select a File…"), isFolder: false },
    { label: vscode.l10n.t("$(folder) Select a Folder…"), isFolder: true },
  ];
  const row = await vscode.window.showQuickPick(rows, { title: dialog.title });
  if (row === undefined) {
    return [];
  }
  const { isFolder } = row;
  const kinds = { canSelectFiles: !isFolder, canSelectFolders: isFolder };
  return (await vscode.window.showOpenDialog({ ...dialog, ...kinds })) ?? [];
}
