/** The name by which what a window starts is known: its folder, so that it is its own after a reload too. */

import * as vscode from "vscode";

export function windowName(): string {
  return workspaceFolder() || `window ${vscode.env.sessionId}`;
}

/** The first folder of the window; "" for a window without one. */
export function workspaceFolder(): string {
  const [first] = (vscode.workspace.workspaceFolders ?? []).filter(
    ({ uri }) => uri.scheme === "file",
  );
  return first?.uri.fsPath ?? "";
}
