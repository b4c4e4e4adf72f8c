/** Summaries of saved batches as documents; registered at activation, since an earlier window may have left one open. */

import * as vscode from "vscode";

import type { Disposable } from "../common/disposables";

const SCHEME = "eagleray-batch";

/** Owns the texts, by the paths of their batches. */
export class BatchDocuments implements Disposable, vscode.TextDocumentContentProvider {
  private readonly texts = new Map<string, string>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly provider: Disposable;

  constructor() {
    this.provider = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  }

  provideTextDocumentContent({ path }: vscode.Uri): string {
    return this.texts.get(path) ?? `${vscode.l10n.t("Read the batch again: “Replay Batch…”.")}\n`;
  }

  async show(batch: string, text: string): Promise<void> {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `${batch}.txt` });
    this.texts.set(uri.path, text);
    this.changed.fire(uri);
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri));
  }

  dispose(): void {
    this.provider.dispose();
    this.changed.dispose();
  }
}
