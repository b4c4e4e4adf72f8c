/** Asks the sidecar to attach, with a cancellable progress once it takes longer than a moment. */

import * as vscode from "vscode";

import type { Parts } from "../../parts";
import { ATTACH, type Attached } from "./messages";
import type { Target } from "./model";

/** Attaching mostly takes a third of a second; a notification that flashes by would only disturb. */
const SILENT_MS = 800;

export async function attachRequest(
  parts: Parts,
  target: Target,
  unlessTaken: boolean,
): Promise<Attached> {
  const cancel = new vscode.CancellationTokenSource();
  let report: (message: string) => void = () => undefined;
  const attached = parts.sidecar.request(
    ATTACH,
    { ...target, workspace_folders: workspaceFolders(), unless_taken: unlessTaken },
    {
      cancel: cancel.token,
      onProgress: (progress) => {
        report(progress.message ?? "");
      },
    },
  );
  const settled = attached.then(
    () => true,
    () => true,
  );
  try {
    if (!(await Promise.race([settled, after(SILENT_MS)]))) {
      await vscode.window.withProgress(
        {
          location: vscode.ProgressLocation.Notification,
          title: "Attaching",
          cancellable: true,
        },
        async (progress, token) => {
          report = (message) => {
            progress.report({ message });
          };
          token.onCancellationRequested(() => {
            cancel.cancel();
          });
          await settled;
        },
      );
    }
    return await attached;
  } finally {
    cancel.dispose();
  }
}

function after(ms: number): Promise<false> {
  return new Promise((resolve) => {
    setTimeout(() => {
      resolve(false);
    }, ms);
  });
}

function workspaceFolders(): string[] {
  return (vscode.workspace.workspaceFolders ?? [])
    .filter((folder) => folder.uri.scheme === "file")
    .map((folder) => folder.uri.fsPath);
}
