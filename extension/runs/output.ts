/** The terminals that show the output of runs; closing one never stops a run. */

import * as vscode from "vscode";

import type { App } from "../app";
import type { Disposable } from "../common/disposables";
import type { Run } from "./messages";
import { isLive } from "./states";
import { runName } from "./worker_names";

export class RunOutput implements Disposable {
  private readonly terminals = new Map<string, vscode.Terminal>();
  private readonly opening = new Map<string, Promise<vscode.Terminal>>();
  private readonly closing: Disposable;
  private links: Disposable | undefined;

  constructor(private readonly app: App) {
    this.closing = vscode.window.onDidCloseTerminal((closed) => {
      for (const [id, terminal] of this.terminals) {
        if (terminal === closed) {
          this.terminals.delete(id);
        }
      }
    });
  }

  /** The terminal of a run; `beside`: the focus stays where it is, and terminals of ended runs of the program close. */
  async show(id: string, beside: boolean): Promise<void> {
    const open = this.terminals.get(id);
    if (open !== undefined && open.exitStatus === undefined) {
      open.show(beside);
      return;
    }
    // A second request before the first has its terminal gets the same one.
    const opening = this.opening.get(id) ?? this.open(id).finally(() => this.opening.delete(id));
    this.opening.set(id, opening);
    (await opening).show(beside);
    if (beside) {
      this.closeEnded(id);
    }
  }

  private closeEnded(id: string): void {
    const { runs } = this.app.runs.value;
    const started = runs.find((run) => run.id === id);
    const isSame = ({ name, cwd }: Run): boolean => name === started?.name && cwd === started.cwd;
    for (const run of runs.filter((each) => each.id !== id && !isLive(each) && isSame(each))) {
      this.close(run.id);
    }
  }

  /** Closes the terminal of a run; *Show Output* opens it again unless the run was removed. */
  close(id: string): void {
    this.terminals.get(id)?.dispose();
  }

  dispose(): void {
    this.closing.dispose();
    this.links?.dispose();
  }

  private folderOf(terminal: vscode.Terminal): string | undefined {
    const [id] = [...this.terminals].find(([, shown]) => shown === terminal) ?? [];
    return this.app.runs.value.runs.find((run) => run.id === id)?.cwd;
  }

  private async open(id: string): Promise<vscode.Terminal> {
    const { RunTerminal } = await import("./run_terminal.js");
    const { TracebackLinks } = await import("./traceback_links.js");
    this.links ??= vscode.window.registerTerminalLinkProvider(
      new TracebackLinks((terminal) => this.folderOf(terminal)),
    );
    const listed = this.app.runs.value.runs.find((run) => run.id === id);
    const run = listed ?? (await this.app.latestRuns()).find((listed) => listed.id === id);
    const pty = new RunTerminal(this.app, id);
    const terminal = vscode.window.createTerminal({
      name: run === undefined ? "run" : runName(run),
      pty,
    });
    this.terminals.set(id, terminal);
    return terminal;
  }
}
