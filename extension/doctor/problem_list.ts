/** Lines of logs in the editor's list of problems, however many tabs and live runs show them. */

import * as vscode from "vscode";

/** Problems by the path of their file. */
type ByPath = ReadonlyMap<string, readonly vscode.Diagnostic[]>;

/** The problems of one tab, or of all that is followed. */
export interface ProblemList {
  /** Replaces them. */
  show(problems: ByPath): void;
  dispose(): void;
}

/** All lists of this window. A line that several show for the same reason is one problem. */
export class ProblemLists implements vscode.Disposable {
  private readonly collection = vscode.languages.createDiagnosticCollection("eagleray");
  private readonly lists = new Map<object, ByPath>();
  private isOver = false;

  added(): ProblemList {
    const key = {};
    return {
      show: (problems) => {
        this.lists.set(key, problems);
        this.draw();
      },
      dispose: () => {
        this.lists.delete(key);
        this.draw();
      },
    };
  }

  dispose(): void {
    this.isOver = true;
    this.collection.dispose();
  }

  private draw(): void {
    // The window may end before its tabs and what it follows.
    if (this.isOver) {
      return;
    }
    const files = new Map<string, Map<string, vscode.Diagnostic>>();
    for (const [path, problems] of [...this.lists.values()].flatMap((list) => [...list])) {
      const ofFile = files.get(path) ?? new Map<string, vscode.Diagnostic>();
      for (const problem of problems) {
        ofFile.set(JSON.stringify([problem.range, problem.message]), problem);
      }
      files.set(path, ofFile);
    }
    this.collection.clear();
    for (const [path, problems] of files) {
      this.collection.set(vscode.Uri.file(path), [...problems.values()]);
    }
  }
}
