/** The breakpoints of the gutter: sent to live runs, with notes beside lines where no worker stops. */

import * as vscode from "vscode";

import type { App } from "../app";
import type { Disposable } from "../common/disposables";
import { windowName } from "../workspace";
import { BREAKPOINTS, type Breakpoint, type LineBreakpoint, type Run } from "./messages";
import { lineNotes } from "./line_texts";
import { isOfThisWindow } from "./run_list";
import { isLive } from "./states";

/** Dragging and "Remove All Breakpoints" change many at once: they are sent together. */
const DEBOUNCE_MS = 150;

/** All breakpoints of the editor that workers can stop at. */
export function gutterBreakpoints(): Breakpoint[] {
  return breakpointsOf(
    vscode.debug.breakpoints
      .filter((breakpoint) => breakpoint instanceof vscode.SourceBreakpoint)
      .filter(({ location }) => location.uri.scheme === "file")
      .map(editorBreakpoint),
  );
}

function editorBreakpoint(breakpoint: vscode.SourceBreakpoint): EditorBreakpoint {
  return {
    path: breakpoint.location.uri.fsPath,
    line: breakpoint.location.range.start.line + 1,
    enabled: breakpoint.enabled,
    condition: breakpoint.condition ?? "",
    hit: breakpoint.hitCondition ?? "",
    log: breakpoint.logMessage ?? "",
  };
}

/** Sends changes to the live runs of this window; without live runs it sends nothing. */
export class GutterBreakpoints implements Disposable {
  private readonly subscriptions: readonly Disposable[];
  private timer: NodeJS.Timeout | undefined;
  /** Undefined while no live run of this window has got any. */
  private sent: readonly Breakpoint[] | undefined;
  private hasFailed = false;

  constructor(private readonly app: App) {
    this.subscriptions = [
      vscode.debug.onDidChangeBreakpoints(() => {
        this.schedule();
      }),
      // A run that appears may have started in another window, or before a reload of this one.
      app.runs.onChanged(({ runs }) => {
        if (!runs.some(isOurs)) {
          this.sent = undefined;
        } else if (this.sent === undefined || this.hasFailed) {
          this.schedule();
        }
      }),
    ];
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const subscription of this.subscriptions) {
      subscription.dispose();
    }
  }

  private schedule(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.send(), DEBOUNCE_MS);
  }

  private async send(): Promise<void> {
    const breakpoints = gutterBreakpoints();
    const isSent = this.sent !== undefined && sameBreakpoints(this.sent, breakpoints);
    if ((isSent && !this.hasFailed) || !this.app.runs.value.runs.some(isOurs)) {
      return;
    }
    this.sent = breakpoints;
    try {
      await this.app.sidecar.request(BREAKPOINTS, { workspace: windowName(), breakpoints });
      this.hasFailed = false;
    } catch (error) {
      // The row of each breakpoint shows its state; a click in the gutter opens no dialog.
      this.hasFailed = true;
      this.app.log.warn(`breakpoints were not told to the runs: ${String(error)}`);
    }
  }
}

function isOurs(run: Run): boolean {
  return isLive(run) && isOfThisWindow(run);
}

/** A breakpoint of the editor in a file; `line` counts from 1. */
interface EditorBreakpoint {
  readonly path: string;
  readonly line: number;
  readonly enabled: boolean;
  readonly condition: string;
  readonly hit: string;
  readonly log: string;
}

/** The breakpoints that workers can stop at, by file, in the order of files and lines; without disabled ones. */
function breakpointsOf(set: readonly EditorBreakpoint[]): Breakpoint[] {
  const files = new Map<string, Map<number, LineBreakpoint>>();
  for (const { path, line, enabled, condition, hit, log } of set) {
    if (enabled && isPython(path)) {
      const lines = files.get(path) ?? new Map<number, LineBreakpoint>();
      // Two in one line, at different columns, are one for a line debugger.
      files.set(path, lines.set(line, { line, condition, hit, log }));
    }
  }
  return [...files]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([path, lines]) => ({ path, lines: [...lines.values()].sort(byLine) }));
}

/** Whether both say the same. */
function sameBreakpoints(left: readonly Breakpoint[], right: readonly Breakpoint[]): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

function isPython(path: string): boolean {
  return /\.pyw?$/.test(path);
}

function byLine(left: LineBreakpoint, right: LineBreakpoint): number {
  return left.line - right.line;
}

export class BreakpointNotes implements Disposable {
  private readonly decoration = vscode.window.createTextEditorDecorationType({
    after: {
      margin: "0 0 0 3em",
      fontStyle: "italic",
      color: new vscode.ThemeColor("editorCodeLens.foreground"),
    },
  });
  private readonly subscriptions: readonly Disposable[];

  constructor(private readonly app: App) {
    this.subscriptions = [
      app.runs.onChanged(() => {
        this.draw();
      }),
      vscode.window.onDidChangeVisibleTextEditors(() => {
        this.draw();
      }),
    ];
  }

  dispose(): void {
    for (const disposable of [this.decoration, ...this.subscriptions]) {
      disposable.dispose();
    }
  }

  private draw(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const { document } = editor;
      const path = document.uri.scheme === "file" ? document.uri.fsPath : "";
      const notes = lineNotes(this.app.runs.value, path)
        .filter(({ line }) => line <= document.lineCount)
        .map(({ line, text }) => ({
          range: document.lineAt(line - 1).range,
          renderOptions: { after: { contentText: text } },
        }));
      editor.setDecorations(this.decoration, notes);
    }
  }
}
