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

  constructor(private readonly errors: ErrorMessages) {}

  allow(socket: string): void {
    this.allowed.add(socket);
  }

  async createDebugAdapterDescriptor(
    session: vscode.DebugSession,
  ): Promise<vscode.DebugAdapterDescriptor> {
    const socket: unknown = session.configuration["socket"];
    if (typeof socket !== "string" || !this.allowed.has(socket)) {
      throw new EaglerayError(
        "not-attached",
        vscode.l10n.t("This session isn't attached to a worker."),
      );
    }
    await showDebugView();
    // As late as possible: a socket that is gone when the editor connects costs a modal error.
    if (!existsSync(socket)) {
      this.errors.show(adapterLetGo(session.name), "starting a debug session");
      return new vscode.DebugAdapterInlineImplementation(new EndedAdapter());
    }
    return new vscode.DebugAdapterNamedPipeServer(socket);
  }
}

/** The session begins and is over, as where a worker ends: the editor would block the window to say that it failed. */
class EndedAdapter extends vscode.Disposable implements vscode.DebugAdapter {
  private readonly sent = new vscode.EventEmitter<vscode.DebugProtocolMessage>();
  private count = 0;
  readonly onDidSendMessage = this.sent.event;

  constructor() {
    super(() => {
      this.sent.dispose();
    });
  }

  handleMessage(message: vscode.DebugProtocolMessage): void {
    const { seq, type, command } = message as Partial<Record<string, unknown>>;
    if (type !== "request") {
      return;
    }
    this.send({ type: "response", request_seq: seq, command, success: true, body: {} });
    if (command === "attach") {
      this.send({ type: "event", event: "terminated", body: {} });
    }
  }

  private send(message: object): void {
    this.count += 1;
    this.sent.fire({ seq: this.count, ...message });
  }
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
