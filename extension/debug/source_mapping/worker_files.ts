/** The worker's version of a file, as a read-only document that is compared with the local one. */

import { basename } from "node:path";

import * as vscode from "vscode";

import type { App } from "../../app";
import type { Disposable } from "../../common/disposables";
import { asEaglerayError } from "../../common/errors";
import { plain } from "../../common/texts";
import { COMPARE, WORKER_FILE, type WorkerFile } from "./messages";
import { localOf, stopPlaceOf } from "./stop_place";

export const WORKER_SCHEME = "eagleray-worker";

/** The path decides the language and the title; the query names the worker. */
export function workerUri(file: WorkerFile): vscode.Uri {
  return vscode.Uri.from({
    scheme: WORKER_SCHEME,
    path: file.path,
    query: JSON.stringify({ cluster: file.cluster, worker_id: file.worker_id, local: file.local }),
  });
}

export class WorkerFiles implements vscode.TextDocumentContentProvider {
  constructor(private readonly app: App) {}

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const worker = JSON.parse(uri.query) as Omit<WorkerFile, "path">;
    try {
      const file = await this.app.sidecar.request(WORKER_FILE, { ...worker, path: uri.path });
      return file.truncated
        ? `${file.text}\n# … ${vscode.l10n.t("the file is longer")}\n`
        : file.text;
    } catch (error) {
      // A document that fails to open shows a blank page, so the document shows the error.
      this.app.log.error(`reading ${uri.path} of the worker: ${String(error)}`);
      return `# ${asEaglerayError(error).sentence}\n`;
    }
  }
}

const SHOW = vscode.l10n.t("Show Difference");

/** Compares the file of a session's first stop when the session begins; each pair of files is reported once. */
export function reportDifferences(app: App): Disposable {
  const reported = new Set<string>();
  return vscode.debug.onDidStartDebugSession((session) => {
    const place = stopPlaceOf(session.configuration);
    const local = localOf(session.configuration);
    if (!place || local === "") {
      return;
    }
    const file = {
      cluster: place.cluster,
      worker_id: place.worker,
      path: place.path,
      local,
    };
    const key = `${place.cluster} ${place.path} ${local}`;
    if (!reported.has(key)) {
      // At once, since the sessions of a group begin before the first answer is here.
      reported.add(key);
      void compare(app, file).then((different) => different || reported.delete(key));
    }
  });
}

/** A failed comparison is only logged, since the user is looking at a stop. */
async function compare(app: App, file: WorkerFile): Promise<boolean> {
  try {
    const { verdict } = await app.sidecar.request(COMPARE, file);
    app.log.info(`${file.path} of the worker and ${file.local}: ${verdict}`);
    if (verdict === "different") {
      void warn(app, file);
    }
    return verdict === "different";
  } catch (error) {
    app.log.warn(`comparing ${file.path}: ${String(error)}`);
    return false;
  }
}

async function warn(app: App, file: WorkerFile): Promise<void> {
  const sentence = vscode.l10n.t(
    "The worker runs another version of {0}. Lines may differ.",
    basename(file.local),
  );
  const answer = await vscode.window.showWarningMessage(plain(sentence), SHOW);
  if (answer === SHOW) {
    await app.errors.shown("showing the difference", () => showDifference(file));
  }
}

export async function showDifference(file: WorkerFile): Promise<void> {
  await vscode.commands.executeCommand(
    "vscode.diff",
    workerUri(file),
    vscode.Uri.file(file.local),
    plain(vscode.l10n.t("{0} (worker ↔ yours)", basename(file.local))),
  );
}
