/** The output of runs as read-only documents, which the editor searches as any other. */

import * as vscode from "vscode";

import type { App } from "../app";
import { Disposables, type Disposable } from "../common/disposables";
import { plain } from "../common/texts";
import type { Run } from "./messages";

const SCHEME = "eagleray-output";

/** Registered at activation, since an earlier window may have left a document open; the query is the id of its run. */
export class OutputDocuments
  implements Disposable, vscode.TextDocumentContentProvider, vscode.DocumentLinkProvider
{
  private readonly owned = new Disposables();
  private readonly changed = this.owned.add(new vscode.EventEmitter<vscode.Uri>());
  readonly onDidChange = this.changed.event;

  constructor(private readonly app: App) {
    this.owned.add(vscode.workspace.registerTextDocumentContentProvider(SCHEME, this));
    this.owned.add(vscode.languages.registerDocumentLinkProvider({ scheme: SCHEME }, this));
  }

  /** Shows the end of the output; a document that is open already is read again. */
  async show(run: Run, preview: boolean): Promise<void> {
    const { startTime } = await import("./rows.js");
    const name = `${plain(run.name)} ${startTime(run.started, Date.now() / 1000)}`;
    const path = `/${name.replaceAll("/", "∕")}.log`;
    const uri = vscode.Uri.from({ scheme: SCHEME, path, query: run.id });
    this.changed.fire(uri);
    const document = await vscode.workspace.openTextDocument(uri);
    const editor = await vscode.window.showTextDocument(document, { preview });
    const end = document.lineAt(document.lineCount - 1).range;
    editor.revealRange(end, vscode.TextEditorRevealType.Default);
  }

  async provideTextDocumentContent({ query }: vscode.Uri): Promise<string> {
    const { outputText } = await import("./output_text.js");
    return await outputText(this.app, query);
  }

  async provideDocumentLinks(document: vscode.TextDocument): Promise<vscode.DocumentLink[]> {
    const { outputLinks } = await import("./output_text.js");
    return await outputLinks(this.app, document);
  }

  dispose(): void {
    this.owned.dispose();
  }
}
