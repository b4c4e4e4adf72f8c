/** The debug adapter of a session that is over before it begins. */

import * as vscode from "vscode";

/**
 * The session begins and is over, as where a worker ends: the editor (VS Code 1.139.1) would block the window to say
 * that it failed.
 */
export class EndedAdapter extends vscode.Disposable implements vscode.DebugAdapter {
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
