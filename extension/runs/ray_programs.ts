/** Which of the visible Python files import Ray: they have “Debug on Ray” as a button in their title. */

import * as vscode from "vscode";

import type { Disposable } from "../common/disposables";
import { setContextKey } from "../settings";

/** Imports are at the beginning of a file; the rest of a long one is not read. */
const LINES_READ = 1000;
/** While the user types, files are read again at most this often. */
const TYPING_MS = 500;
const IMPORTS_RAY =
  /^[ \t]*(?:import[ \t]+(?:[\w.]+(?:[ \t]+as[ \t]+\w+)?[ \t]*,[ \t]*)*ray(?![\w])|from[ \t]+ray(?:\.[\w.]+)?[ \t]+import\b)/m;

export function importsRay(source: string): boolean {
  return IMPORTS_RAY.test(source);
}

/** Follows the visible editors, and what is typed into them. */
export class RayPrograms implements Disposable {
  private readonly listening: readonly Disposable[];
  private timer: NodeJS.Timeout | undefined;
  private listed = "";

  constructor() {
    this.listening = [
      vscode.window.onDidChangeVisibleTextEditors(() => {
        this.update();
      }),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (document.languageId === "python") {
          this.timer ??= setTimeout(() => {
            this.update();
          }, TYPING_MS);
        }
      }),
    ];
    this.update();
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const listener of this.listening) {
      listener.dispose();
    }
  }

  private update(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const beginning = new vscode.Range(0, 0, LINES_READ, 0);
    const paths = vscode.window.visibleTextEditors
      .map(({ document }) => document)
      .filter(({ uri, languageId }) => uri.scheme === "file" && languageId === "python")
      .filter((document) => importsRay(document.getText(beginning)))
      .map(({ uri }) => uri.fsPath);
    const listed = [...new Set(paths)].sort();
    if (listed.join("\0") !== this.listed) {
      this.listed = listed.join("\0");
      setContextKey("eagleray.rayPrograms", listed);
    }
  }
}
