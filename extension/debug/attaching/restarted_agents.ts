/** Restart in the toolbar of the debugger: a session of an agent's run starts the same item again. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { COMMANDS } from "../../contributions";
import type { AdapterFactory } from "./debug_adapter";
import { targetOfSession } from "./sessions";

/**
 * The editor itself only attaches again, which is what a worker of Ray needs: ending one would end the whole run.  A run
 * of an agent has no other workers, so its command starts again, and its next stop opens a new session.
 */
export class RestartedAgents implements vscode.DebugAdapterTrackerFactory {
  constructor(
    private readonly app: App,
    private readonly factory: AdapterFactory,
  ) {}

  createDebugAdapterTracker(session: vscode.DebugSession): vscode.DebugAdapterTracker {
    return {
      onWillReceiveMessage: (message: unknown) => {
        const run = isRestart(message) ? agentRunOf(this.app, session) : undefined;
        if (run !== undefined) {
          this.factory.replaced.add(session.id);
          void vscode.commands.executeCommand(COMMANDS.restartRun, { row: "run", run });
        }
      },
    };
  }
}

/** The run of an agent that the session debugs; undefined for a worker of anything else. */
export function agentRunOf(app: App, session: vscode.DebugSession): object | undefined {
  const target = targetOfSession(session);
  return app.runs.value.runs.find(
    ({ is_agent, workers }) =>
      is_agent && workers.some(({ worker_id }) => worker_id === target?.worker),
  );
}

function isRestart(message: unknown): boolean {
  const { type, command, arguments: args } = message as Partial<Record<string, unknown>>;
  return (
    type === "request" &&
    command === "disconnect" &&
    (args as { restart?: unknown } | undefined)?.restart === true
  );
}
