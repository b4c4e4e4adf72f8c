/** Opens the line of a frame in the user's own checkout. */

import { basename } from "node:path";

import * as vscode from "vscode";

import type { App } from "../../app";
import { plain } from "../../common/texts";
import { localFileOf } from "../../debug/source_mapping/local_file_question";

/**
 * The path comes from a cluster or a file, so it only selects among local files, by the rules of a stop: the mappings,
 * the same path, the workspace, a question.  `line` is 0 where it is unknown.
 */
export async function openSourceLine(
  app: App,
  cluster: string,
  path: string,
  line: number,
): Promise<void> {
  const local = await localFileOf(app, { cluster, worker: "", path });
  if (local === "") {
    void vscode.window.showInformationMessage(
      vscode.l10n.t("{0} isn’t on this machine.", plain(basename(path) || path)),
    );
  }
  if (local === undefined || local === "") {
    return;
  }
  const at = Math.max(line - 1, 0);
  const selection = new vscode.Range(at, 0, at, 0);
  await vscode.window.showTextDocument(vscode.Uri.file(local), {
    selection,
    preview: true,
    // The picture stays visible beside its source.
    viewColumn: vscode.ViewColumn.Beside,
  });
}
