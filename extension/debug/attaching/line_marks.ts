/** Marks at stopped lines of every visible editor which workers are paused there; a click in the hover attaches. */

import * as vscode from "vscode";

import type { App } from "../../app";
import type { Disposable } from "../../common/disposables";
import type { Readable } from "../../common/store";
import { plain } from "../../common/texts";
import { COMMANDS } from "../../contributions";
import type { PausedWorker } from "../workers/messages";
import { workerName } from "../workers/names";
import { targetKey, targetOf, type DebuggedWorker } from "./model";
import { sameLines, stoppedLines, type StoppedLine } from "./stopped_lines";

/** More workers than this have no links of their own in a hover. */
const LINKS_AT_MOST = 20;

/** Draws only where the texts have changed; owned by the feature. */
export class LineMarks implements Disposable {
  private readonly decorations = {
    paused: decoration("editorWarning.foreground"),
    debugging: decoration("editorCodeLens.foreground"),
  };
  private readonly drawn = new WeakMap<vscode.TextEditor, readonly StoppedLine[]>();
  private readonly listening: readonly Disposable[];

  constructor(
    private readonly app: App,
    private readonly debugged: Readable<DebuggedWorker | undefined>,
  ) {
    const draw = (): void => {
      this.draw();
    };
    this.listening = [
      app.paused.onChanged(draw),
      debugged.onChanged(draw),
      vscode.window.onDidChangeVisibleTextEditors(draw),
    ];
    draw();
  }

  dispose(): void {
    for (const disposable of [...Object.values(this.decorations), ...this.listening]) {
      disposable.dispose();
    }
  }

  private draw(): void {
    const front = this.debugged.value && targetKey(this.debugged.value);
    for (const editor of vscode.window.visibleTextEditors) {
      const { uri, lineCount } = editor.document;
      const path = uri.scheme === "file" ? uri.fsPath : "";
      const lines = path === "" ? [] : stoppedLines(this.app.paused.value, path, front);
      const shown = lines.filter(({ line }) => line >= 1 && line <= lineCount);
      if (!sameLines(shown, this.drawn.get(editor) ?? [])) {
        this.drawn.set(editor, shown);
        this.set(editor, shown);
      }
    }
  }

  private set(editor: vscode.TextEditor, lines: readonly StoppedLine[]): void {
    const options = (chosen: readonly StoppedLine[]): vscode.DecorationOptions[] =>
      chosen.map((stopped) => {
        const { range } = editor.document.lineAt(stopped.line - 1);
        return {
          // The end of the line, so that the hover belongs to the mark and not to the code.
          range: new vscode.Range(range.end, range.end),
          hoverMessage: hover(stopped),
          renderOptions: { after: { contentText: stopped.text } },
        };
      });
    editor.setDecorations(
      this.decorations.paused,
      options(lines.filter(({ inFront }) => inFront === undefined)),
    );
    editor.setDecorations(
      this.decorations.debugging,
      options(lines.filter(({ inFront }) => inFront !== undefined)),
    );
  }
}

function decoration(color: string): vscode.TextEditorDecorationType {
  return vscode.window.createTextEditorDecorationType({
    after: { margin: "0 0 0 2em", fontStyle: "italic", color: new vscode.ThemeColor(color) },
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  });
}

/** The workers with links; what comes from the cluster is escaped, and only our commands are trusted. */
function hover({ workers }: StoppedLine): vscode.MarkdownString {
  const text = new vscode.MarkdownString("", true);
  text.isTrusted = { enabledCommands: [COMMANDS.attach, COMMANDS.continue] };
  for (const worker of workers.slice(0, LINKS_AT_MOST)) {
    const links = [
      link(vscode.l10n.t("Attach"), COMMANDS.attach, worker),
      link(vscode.l10n.t("Continue"), COMMANDS.continue, worker),
    ];
    text.appendMarkdown(`$(${worker.state === "debugging" ? "debug-alt" : "debug-pause"}) `);
    text.appendText(plain(workerName(worker)));
    text.appendMarkdown(` — ${links.join(" · ")}\n\n`);
    if (worker.exception !== "") {
      text.appendText(plain(worker.exception));
      text.appendMarkdown("\n\n");
    }
  }
  if (workers.length > LINKS_AT_MOST) {
    text.appendText(vscode.l10n.t("and {0} more", workers.length - LINKS_AT_MOST));
  }
  return text;
}

function link(title: string, command: string, worker: PausedWorker): string {
  const { cluster, worker: id } = targetOf(worker);
  const argument = encodeURIComponent(JSON.stringify([{ cluster, worker: id }]));
  // A bracket would end the link.
  const escaped = argument.replaceAll("(", "%28").replaceAll(")", "%29");
  return `[${title}](command:${command}?${escaped})`;
}
