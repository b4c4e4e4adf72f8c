/** Whether anything of this workspace may be executed. */

import * as vscode from "vscode";

/** By whichever way a command was called: its menus are greyed out, but keys and other extensions can call it. */
export async function ifTrusted<T>(work: () => Promise<T>): Promise<T | undefined> {
  if (!vscode.workspace.isTrusted) {
    void vscode.window.showInformationMessage("A run is started only in a trusted workspace.");
    return undefined;
  }
  return await work();
}
