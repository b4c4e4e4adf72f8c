/** Asks before something is done that cannot be taken back. */

import * as vscode from "vscode";

import { plain } from "./common/texts";

/** A dialog shows `detail`, an exact command or a list, as it is. */
export async function isConfirmed(question: string, detail: string, yes: string): Promise<boolean> {
  const options = { modal: true, detail };
  return (await vscode.window.showWarningMessage(plain(question), options, yes)) === yes;
}
