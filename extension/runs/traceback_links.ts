/** Links of tracebacks in the output of a run: `File "/path/learner.py", line 19` opens the file of this machine. */

import { access } from "node:fs/promises";
import * as path from "node:path";

import * as vscode from "vscode";

export const FRAME = /File "([^"]+)", line (\d+)/g;

/** Looks only at terminals of runs; `folderOf` gives the folder of the run of a terminal. */
export class TracebackLinks implements vscode.TerminalLinkProvider {
  private readonly targets = new WeakMap<vscode.TerminalLink, { file: string; line: number }>();

  constructor(private readonly folderOf: (terminal: vscode.Terminal) => string | undefined) {}

  async provideTerminalLinks({
    line,
    terminal,
  }: vscode.TerminalLinkContext): Promise<vscode.TerminalLink[]> {
    const folder = this.folderOf(terminal);
    const links: vscode.TerminalLink[] = [];
    for (const match of folder === undefined ? [] : line.matchAll(FRAME)) {
      const file = await localFile(match[1] ?? "", folder ?? "", exists);
      if (file !== undefined) {
        const tooltip = vscode.l10n.t("Open file");
        const link = new vscode.TerminalLink(match.index, match[0].length, tooltip);
        this.targets.set(link, { file, line: Number(match[2]) });
        links.push(link);
      }
    }
    return links;
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
export async function localFile(
  written: string,
  folder: string,
  isThere: (file: string) => Promise<boolean>,
): Promise<string | undefined> {
  const parts = written.split("/").filter((part) => part !== "" && part !== "..");
  const ends = parts.map((_, index) => path.join(folder, ...parts.slice(index)));
  for (const file of [path.resolve(folder, written), ...ends]) {
    if (await isThere(file)) {
      return file;
    }
  }
  return undefined;
}

/** Without waiting for a file system that doesn't respond, which would stop every extension of the window. */
export async function exists(file: string): Promise<boolean> {
  return await access(file).then(
    () => true,
    () => false,
  );
}
