/** Dialogs: confirmations, what a program printed, and progress with a button to cancel. */

import * as vscode from "vscode";

import { plain } from "./common/texts";
import type { RequestOptions } from "./sidecar/sidecar";

/** A dialog shows `detail`, an exact command or a list, as it is. */
export async function isConfirmed(question: string, detail: string, yes: string): Promise<boolean> {
  const options = { modal: true, detail };
  return (await vscode.window.showWarningMessage(plain(question), options, yes)) === yes;
}

/** A dialog shows what ssh printed as it is, lines and all; a button opens the log. */
export async function showPrinted(
  title: string,
  printed: string,
  log: vscode.LogOutputChannel,
): Promise<void> {
  const showLog = vscode.l10n.t("Show Log");
  const lines = printed.split(/\r?\n/).map((line) => plain(line, 500));
  const detail = lines.filter((line, at) => line !== "" || lines[at - 1] !== "").join("\n");
  const options = { modal: true, detail: detail.trim() };
  const answer = await vscode.window.showInformationMessage(plain(title, 600), options, showLog);
  if (answer === showLog) {
    log.show();
  }
}

/** Most work is done by then; a notification that flashes by would only disturb. */
const SILENT_MS = 800;

/** Runs `work`, which gives what it gets on to its requests; the notification begins with `title`. */
export async function longWork<T>(
  title: string,
  work: (options: RequestOptions) => Promise<T>,
): Promise<T> {
  const cancel = new vscode.CancellationTokenSource();
  let last = "";
  let report: (message: string) => void = () => undefined;
  const working = work({
    cancel: cancel.token,
    onProgress: ({ message = "" }) => {
      // The reason why a job waits comes from a cluster.
      last = plain(message, 300);
      report(last);
    },
  });
  const settled = working.then(
    () => true,
    () => true,
  );
  try {
    if (!(await Promise.race([settled, after(SILENT_MS)]))) {
      await vscode.window.withProgress(
        { location: vscode.ProgressLocation.Notification, title, cancellable: true },
        async (progress, token) => {
          report = (message) => {
            progress.report({ message });
          };
          report(last);
          token.onCancellationRequested(() => {
            cancel.cancel();
          });
          await settled;
        },
      );
    }
    return await working;
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
