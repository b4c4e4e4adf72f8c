/** Says when the debug adapter ends under a session, which the editor itself ends without a word. */

import type * as vscode from "vscode";

import { adapterLost } from "../../common/errors";
import type { Parts } from "../../parts";
import { isLeaving } from "./model";

/** A session that ends in order was told so by one of both sides before the connection broke. */
export class Losing implements vscode.DebugAdapterTrackerFactory {
  constructor(private readonly parts: Parts) {}

  createDebugAdapterTracker(session: vscode.DebugSession): vscode.DebugAdapterTracker {
    let isOver = false;
    const take = (message: unknown): void => {
      isOver ||= isLeaving(message);
    };
    return {
      onWillReceiveMessage: take,
      onDidSendMessage: take,
      onError: () => {
        if (!isOver) {
          isOver = true;
          this.parts.errors.show(adapterLost(), `debugging ${session.name}`);
        }
      },
    };
  }
}
