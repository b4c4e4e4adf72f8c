/** The compared texts of a review as documents; read at activation, since an earlier window may have left one open. */

import * as vscode from "vscode";

import type { Disposable } from "../../common/disposables";

const SCHEME = "eagleray-run";

/** Owns the texts; a comparison that an earlier window left open shows what it was. */
export class ReviewDocuments implements Disposable, vscode.TextDocumentContentProvider {
  private readonly texts = new Map<string, string>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly provider: Disposable;

  constructor() {
    this.provider = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return (
      this.texts.get(uri.path) ??
      `${vscode.l10n.t("This comparison is no longer available. Open it again from the options page.")}\n`
    );
  }

  /** Where `text` is shown from now on. */
  put(path: string, text: string): vscode.Uri {
    const uri = vscode.Uri.from({ scheme: SCHEME, path });
    this.texts.set(path, text);
    this.changed.fire(uri);
    return uri;
  }

  dispose(): void {
    this.provider.dispose();
    this.changed.dispose();
  }
}
