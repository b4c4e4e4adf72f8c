/** Connects a debug session to the socket on which the adapter serves its worker. */

import { existsSync } from "node:fs";

import * as vscode from "vscode";

import { adapterLetGo, EaglerayError } from "../../common/errors";
import type { ErrorMessages } from "../../error_messages";
import { showDebugView } from "./sessions";

/**
 * Gives out the sockets that an attach has named in this window, and no other: a launch.json could name
 * any socket of this machine.
 */
export class AdapterFactory implements vscode.DebugAdapterDescriptorFactory {
  private readonly known = new Set<string>();

  constructor(private readonly errors: ErrorMessages) {}

  allow(socket: string): void {
    this.known.add(socket);
  }

  async createDebugAdapterDescriptor(
    session: vscode.DebugSession,
  ): Promise<vscode.DebugAdapterDescriptor> {
    const socket: unknown = session.configuration["socket"];
    if (typeof socket !== "string" || !this.known.has(socket)) {
      throw new EaglerayError("not-attached", "This session belongs to no attached worker.");
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
