/** Moves the editor to a session that begins. */

import * as vscode from "vscode";

/**
 * Shows the debug view before a session stops.  VS Code itself shows it after the stop; made only then, as
 * for a window's first session, it leaves the variables and the call stack folded.
 */
export async function showDebugView(): Promise<void> {
  const when = vscode.workspace.getConfiguration("debug").get<string>("openDebug");
  if (when !== "neverOpen") {
    await vscode.commands.executeCommand("workbench.view.debug");
  }
}

/** More sessions than this, ended ones included, are not walked through. */
const AT_MOST = 64;

/**
 * While one session stands, VS Code moves to no other that stops, and extensions have no call for it.  Who
 * clicked on a second worker wants to stand there, so the commands that walk through the debug consoles
 * are used: each makes the next session, and where it stands, the one that the editor shows.
 */
export async function bringToFront(session: vscode.DebugSession): Promise<void> {
  const isInFront = (): boolean => vscode.debug.activeDebugSession?.id === session.id;
  if (isInFront()) {
    return;
  }
  for (let walked = 0; walked < AT_MOST && !isInFront(); walked += 1) {
    // Backwards, since the newest session stands at the end of a list that goes round.
    await vscode.commands.executeCommand("workbench.action.debug.prevConsole");
  }
  await vscode.commands.executeCommand("workbench.action.focusActiveEditorGroup");
}
