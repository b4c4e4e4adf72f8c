/** Texts as read-only documents of a scheme; registered at activation, since an earlier window may have left one open. */

import * as vscode from "vscode";

import type { Disposable } from "./common/disposables";

/** Owns the texts by their paths; `gone` is the text of a document that an earlier window left open. */
export class TextDocuments implements Disposable, vscode.TextDocumentContentProvider {
  private readonly texts = new Map<string, string>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly provider: Disposable;

  constructor(
    private readonly scheme: string,
    private readonly gone: string,
  ) {
    this.provider = vscode.workspace.registerTextDocumentContentProvider(scheme, this);
  }

  provideTextDocumentContent({ path }: vscode.Uri): string {
    return this.texts.get(path) ?? `${this.gone}\n`;
  }

  /** Where `text` is shown from now on. */
  put(path: string, text: string): vscode.Uri {
    const uri = vscode.Uri.from({ scheme: this.scheme, path });
    this.texts.set(path, text);
    this.changed.fire(uri);
    return uri;
  }

  dispose(): void {
    this.provider.dispose();
    this.changed.dispose();
  }
}
