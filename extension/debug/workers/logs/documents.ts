/** Logs and search results as read-only documents. */

import * as vscode from "vscode";

import { Disposables, type Disposable } from "../../../common/disposables";
import { asEaglerayError } from "../../../common/errors";
import type { OpenLog } from "../messages";
import type { LineLink } from "./model";

const SCHEME = "eagleray-log";

/** A document that is opened at a line and requests its text then; the query names the log. */
function lineUri(title: string, log: OpenLog, line: number): vscode.Uri {
  const query = JSON.stringify(log);
  return vscode.Uri.from({ scheme: SCHEME, path: `/${title}.log`, query, fragment: `L${line}` });
}

/** How a document is shown: from which end, in a preview tab or not, and its links. */
interface ShowOptions {
  readonly at?: "start" | "end";
  readonly preview?: boolean;
  readonly links?: readonly vscode.DocumentLink[];
}

/** Owns the texts and links of the documents that are open. */
export class LogDocuments
  implements Disposable, vscode.TextDocumentContentProvider, vscode.DocumentLinkProvider
{
  private readonly owned = new Disposables();
  private readonly texts = new Map<string, string>();
  private readonly links = new Map<string, readonly vscode.DocumentLink[]>();
  private readonly changed = this.owned.add(new vscode.EventEmitter<vscode.Uri>());
  readonly onDidChange = this.changed.event;

  /** `read` asks for the text of a log. */
  constructor(private readonly read: (log: OpenLog) => Promise<string>) {
    this.owned.add(vscode.workspace.registerTextDocumentContentProvider(SCHEME, this));
    this.owned.add(vscode.languages.registerDocumentLinkProvider({ scheme: SCHEME }, this));
    this.owned.add(
      vscode.workspace.onDidCloseTextDocument((document) => {
        this.texts.delete(document.uri.toString());
        this.links.delete(document.uri.toString());
      }),
    );
  }

  /** Shows `text` under `title`; a document of that title which is open already gets the new text. */
  async show(
    title: string,
    text: string,
    { at = "start", preview = true, links = [] }: ShowOptions,
  ): Promise<void> {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${title}.log` });
    this.texts.set(uri.toString(), text);
    this.links.set(uri.toString(), links);
    this.changed.fire(uri);
    const document = await vscode.workspace.openTextDocument(uri);
    const editor = await vscode.window.showTextDocument(document, { preview });
    if (at === "end") {
      const end = document.lineAt(document.lineCount - 1).range;
      editor.revealRange(end, vscode.TextEditorRevealType.Default);
    }
  }

  /** After a reload of the window the editor requests documents whose text is gone. */
  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const text = this.texts.get(uri.toString());
    if (text !== undefined) {
      return text;
    }
    if (uri.query === "") {
      return `${vscode.l10n.t("Open this log again from the Eagleray views.")}\n`;
    }
    try {
      return await this.read(JSON.parse(uri.query) as OpenLog);
    } catch (error) {
      // A document that fails to open shows a blank page, so the document shows the error.
      return `${asEaglerayError(error).sentence}\n`;
    }
  }

  provideDocumentLinks(document: vscode.TextDocument): vscode.DocumentLink[] {
    return [...(this.links.get(document.uri.toString()) ?? [])];
  }

  dispose(): void {
    this.owned.dispose();
  }
}

/** The links of what a search found. */
export function linksTo(links: readonly LineLink[]): vscode.DocumentLink[] {
  return links.map(({ line, from, to, title, match }) => {
    const { cluster, worker_id, stream, lines, line_number } = match;
    const log = { cluster, worker_id, stream, lines };
    const range = new vscode.Range(line, from, line, to);
    return new vscode.DocumentLink(range, lineUri(title, log, line_number));
  });
}
