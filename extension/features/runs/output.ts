/** Terminals that show the output of runs; closing one never stops a run. */

import * as vscode from "vscode";

import type { Disposable } from "../../common/disposables";
import { plain } from "../../common/texts";
import type { Parts } from "../../parts";
import { FOLLOW } from "./messages";

export class Output implements Disposable {
  private readonly terminals = new Map<string, vscode.Terminal>();
  private readonly opening = new Map<string, Promise<vscode.Terminal>>();
  private readonly closing: Disposable;

  constructor(private readonly parts: Parts) {
    this.closing = vscode.window.onDidCloseTerminal((closed) => {
      for (const [id, terminal] of this.terminals) {
        if (terminal === closed) {
          this.terminals.delete(id);
        }
      }
    });
  }

  /** The terminal of a run, the one that is open already if there is one; `beside`: the focus stays where it is. */
  async show(id: string, beside: boolean): Promise<void> {
    const open = this.terminals.get(id);
    if (open !== undefined && open.exitStatus === undefined) {
      open.show(beside);
      return;
    }
    // Who asks again before there is an answer gets the same terminal.
    const opening = this.opening.get(id) ?? this.open(id).finally(() => this.opening.delete(id));
    this.opening.set(id, opening);
    (await opening).show(beside);
  }

  dispose(): void {
    this.closing.dispose();
  }

  private async open(id: string): Promise<vscode.Terminal> {
    const { title, argv, env } = await this.parts.sidecar.request(FOLLOW, { id });
    const [shellPath = "", ...shellArgs] = argv;
    // Not brought back by the next window: the run may be over by then, and its row opens it anew.
    const options = { name: plain(title), shellPath, shellArgs, env, isTransient: true };
    const terminal = vscode.window.createTerminal(options);
    this.terminals.set(id, terminal);
    return terminal;
  }
}
