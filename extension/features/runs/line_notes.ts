/** Says beside a line of the editor why no worker of a live run stops just there. */

import * as vscode from "vscode";

import type { Disposable } from "../../common/disposables";
import type { Parts } from "../../parts";
import { lineNotes } from "./model";

export class LineNotes implements Disposable {
  private readonly look = vscode.window.createTextEditorDecorationType({
    after: {
      margin: "0 0 0 3em",
      fontStyle: "italic",
      color: new vscode.ThemeColor("editorCodeLens.foreground"),
    },
  });
  private readonly subscriptions: readonly Disposable[];

  constructor(private readonly parts: Parts) {
    this.subscriptions = [
      parts.runs.onChanged(() => {
        this.draw();
      }),
      vscode.window.onDidChangeVisibleTextEditors(() => {
        this.draw();
      }),
    ];
  }

  dispose(): void {
    for (const one of [this.look, ...this.subscriptions]) {
      one.dispose();
    }
  }

  private draw(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const { document } = editor;
      const path = document.uri.scheme === "file" ? document.uri.fsPath : "";
      const notes = lineNotes(this.parts.runs.value, path)
        .filter(({ line }) => line <= document.lineCount)
        .map(({ line, text }) => ({
          range: document.lineAt(line - 1).range,
          renderOptions: { after: { contentText: text } },
        }));
      editor.setDecorations(this.look, notes);
    }
  }
}
