/** Logs and what was found in them, as read-only documents. */

import * as vscode from "vscode";

import { Disposables, type Disposable } from "../../common/disposables";

const SCHEME = "eagleray-log";

/** Owns the texts of the documents that are open. */
export class LogDocuments implements Disposable, vscode.TextDocumentContentProvider {
  private readonly owned = new Disposables();
  private readonly texts = new Map<string, string>();
  private readonly changed = this.owned.add(new vscode.EventEmitter<vscode.Uri>());
  readonly onDidChange = this.changed.event;

  constructor() {
    this.owned.add(vscode.workspace.registerTextDocumentContentProvider(SCHEME, this));
    this.owned.add(
      vscode.workspace.onDidCloseTextDocument((document) => {
        this.texts.delete(document.uri.toString());
      }),
    );
  }

  /** Shows `text` under `title`; a document of that title which is open already gets the new text. */
  async show(title: string, text: string, at: "start" | "end"): Promise<void> {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${title}.log` });
    this.texts.set(uri.toString(), text);
    this.changed.fire(uri);
    const document = await vscode.workspace.openTextDocument(uri);
    const editor = await vscode.window.showTextDocument(document, { preview: true });
    if (at === "end") {
      const end = document.lineAt(document.lineCount - 1).range;
      editor.revealRange(end, vscode.TextEditorRevealType.Default);
    }
  }

  /** After a reload of the window the editor asks for documents whose text went with the old one. */
  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? "Open this log again from the panel Eagleray.\n";
  }

  dispose(): void {
    this.owned.dispose();
  }
}
