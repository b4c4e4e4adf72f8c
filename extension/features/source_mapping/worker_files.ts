/** The worker's own version of a file, as a read-only document. */

import * as vscode from "vscode";

import { asEaglerayError } from "../../common/errors";
import type { Parts } from "../../parts";
import { WORKER_FILE, type WorkerFile } from "./messages";

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
  constructor(private readonly parts: Parts) {}

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const named = JSON.parse(uri.query) as Omit<WorkerFile, "path">;
    try {
      const file = await this.parts.sidecar.request(WORKER_FILE, { ...named, path: uri.path });
      return file.truncated ? `${file.text}\n# … the file is longer\n` : file.text;
    } catch (error) {
      // A document that failed to open shows a blank page; one that says why helps.
      this.parts.log.error(`reading ${uri.path} of the worker: ${String(error)}`);
      return `# ${asEaglerayError(error).sentence}\n`;
    }
  }
}
