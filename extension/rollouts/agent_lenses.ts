/** The lines above agents in the editor: “Debug” and “Run 64 × 8”; read when a file may have an agent. */

import * as vscode from "vscode";

import type { App } from "../app";
import { isCancellation } from "../common/errors";
import { COMMANDS } from "../contributions";
import { AGENTS, type AgentClass } from "./messages";
import type { AgentRef } from "./agent_model";
import { runOptions, sizeText, type RunOptions } from "./run_options";

export class AgentLenses {
  /** While the user types, a text is often no valid Python; the lines of the last one stay. */
  private readonly last = new Map<string, readonly AgentClass[]>();

  constructor(private readonly app: App) {
    app.context.subscriptions.push(
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.last.delete(uri.toString())),
    );
  }

  /**
   * Asks the sidecar, which starts it.  The sidecar gets the text of a file that may have an agent alone: as a language
   * server it would get every Python file of the window, and each change.
   */
  async of(
    document: vscode.TextDocument,
    cancel: vscode.CancellationToken,
  ): Promise<vscode.CodeLens[]> {
    const text = document.getText();
    const state = this.app.sidecar.state.value;
    if (state !== "ready" && state !== "idle") {
      return [];
    }
    const key = document.uri.toString();
    try {
      const { classes } = await this.app.sidecar.request(AGENTS, { text }, { cancel });
      if (classes !== null) {
        this.last.set(key, classes);
      }
    } catch (error) {
      if (!isCancellation(error)) {
        this.app.log.info(`no lines above agents: ${String(error)}`);
      }
    }
    const options = runOptions(this.app);
    return (this.last.get(key) ?? [])
      .filter(({ line }) => line <= document.lineCount)
      .flatMap((agent) => lensesOf(document.uri.fsPath, agent, options));
  }
}

function lensesOf(
  path: string,
  { name, line }: AgentClass,
  options: RunOptions,
): vscode.CodeLens[] {
  const range = new vscode.Range(line - 1, 0, line - 1, 0);
  const agent: AgentRef = { path, name };
  return [
    new vscode.CodeLens(range, {
      title: vscode.l10n.t("Debug"),
      command: COMMANDS.debugAgent,
      arguments: [agent],
      tooltip: vscode.l10n.t("Run the agent for one data item under the debugger"),
    }),
    new vscode.CodeLens(range, {
      title: vscode.l10n.t("Run {0}", sizeText(options)),
      command: COMMANDS.runAgentWave,
      arguments: [agent],
      tooltip: vscode.l10n.t("Run groups of items at once, and see what slows them"),
    }),
  ];
}
