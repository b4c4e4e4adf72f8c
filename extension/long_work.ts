/** Work that may take long: a notification with its progress, and a way to cancel it, once it does. */

import * as vscode from "vscode";

import { plain } from "./common/texts";
import type { RequestOptions } from "./sidecar/sidecar";

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
