/** The debug adapter of a session: connects to the socket that serves the worker, and shows a crash. */

import { existsSync } from "node:fs";

import * as vscode from "vscode";

import type { App } from "../../app";
import { adapterLetGo, adapterLost, EaglerayError } from "../../common/errors";
import type { ErrorMessages } from "../../error_messages";
import { endsSession } from "./model";
import { showDebugView } from "./sessions";

/**
 * Gives out the sockets that an attach has named in this window, and no other: a launch.json could name
 * any socket of this machine.
 */
export class AdapterFactory implements vscode.DebugAdapterDescriptorFactory {
  private readonly allowed = new Set<string>();
  /** Ids of sessions that the editor starts again, though their programs start again and have new ones. */
  readonly replaced = new Set<string>();

  constructor(private readonly errors: ErrorMessages) {}

  allow(socket: string): void {
    this.allowed.add(socket);
  }

  async createDebugAdapterDescriptor(
    session: vscode.DebugSession,
  ): Promise<vscode.DebugAdapterDescriptor> {
    if (this.replaced.delete(session.id)) {
      return await ended();
    }
    const socket: unknown = session.configuration["socket"];
    if (typeof socket !== "string" || !this.allowed.has(socket)) {
      throw new EaglerayError(
        "not-attached",
        vscode.l10n.t("This session isn't attached to a worker."),
      );
    }
    await showDebugView();
    // As late as possible: a socket that is gone when the editor connects costs a modal error (VS Code 1.139.1).
    if (!existsSync(socket)) {
      this.errors.show(adapterLetGo(session.name), "starting a debug session");
      return await ended();
    }
    return new vscode.DebugAdapterNamedPipeServer(socket);
  }
}

async function ended(): Promise<vscode.DebugAdapterDescriptor> {
  const { EndedAdapter } = await import("./adapter_loss.js");
  return new vscode.DebugAdapterInlineImplementation(new EndedAdapter());
}

/**
 * Shows an error when the adapter ends during a session, which the editor ends without a message.  In an orderly
 * end one side announces it before the connection breaks.
 */
export class AdapterCrash implements vscode.DebugAdapterTrackerFactory {
  constructor(private readonly app: App) {}

  createDebugAdapterTracker(session: vscode.DebugSession): vscode.DebugAdapterTracker {
    let isOver = false;
    const take = (message: unknown): void => {
      isOver ||= endsSession(message);
    };
    return {
      onWillReceiveMessage: take,
      onDidSendMessage: take,
      onError: () => {
        if (!isOver) {
          isOver = true;
          this.app.errors.show(adapterLost(), `debugging ${session.name}`);
        }
      },
    };
  }
}
