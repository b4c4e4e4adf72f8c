/** Links of tracebacks in the output of a run: `File "/path/learner.py", line 19` opens the file of this machine. */

import { existsSync } from "node:fs";
import * as path from "node:path";

import * as vscode from "vscode";

export const FRAME = /File "([^"]+)", line (\d+)/g;

/** Looks only at terminals of runs; `folderOf` gives the folder of the run of a terminal. */
export class TracebackLinks implements vscode.TerminalLinkProvider {
  private readonly targets = new WeakMap<vscode.TerminalLink, { file: string; line: number }>();

  constructor(private readonly folderOf: (terminal: vscode.Terminal) => string | undefined) {}

  provideTerminalLinks({ line, terminal }: vscode.TerminalLinkContext): vscode.TerminalLink[] {
    const folder = this.folderOf(terminal);
    if (folder === undefined) {
      return [];
    }
    return [...line.matchAll(FRAME)].flatMap((match) => {
      const file = localFile(match[1] ?? "", folder, existsSync);
      if (file === undefined) {
        return [];
      }
      const tooltip = vscode.l10n.t("Open file");
      const link = new vscode.TerminalLink(match.index, match[0].length, tooltip);
      this.targets.set(link, { file, line: Number(match[2]) });
      return [link];
    });
  }

  async handleTerminalLink(link: vscode.TerminalLink): Promise<void> {
    const target = this.targets.get(link);
    if (target !== undefined) {
      const at = target.line - 1;
      const selection = new vscode.Range(at, 0, at, 0);
      const file = vscode.Uri.file(target.file);
      await vscode.window.showTextDocument(file, { selection, preview: true });
    }
  }
}

/**
 * The file of this machine that a frame of a traceback names:
 *
 * 1. The file itself, from the folder of the run.
 * 2. For a file of a worker, as in Ray's copy of the working folder: the longest end of its path that the folder has.
 */
export function localFile(
  written: string,
  folder: string,
  exists: (file: string) => boolean,
): string | undefined {
  const itself = path.resolve(folder, written);
  if (exists(itself)) {
    return itself;
  }
  const parts = written.split("/").filter((part) => part !== "" && part !== "..");
  return parts
    .map((_, index) => path.join(folder, ...parts.slice(index)))
    .find((file) => exists(file));
}
