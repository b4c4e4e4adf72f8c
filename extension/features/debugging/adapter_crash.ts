/** Shows an error when the debug adapter ends during a session, which the editor ends without a message. */

import type * as vscode from "vscode";

import type { App } from "../../app";
import { adapterLost } from "../../common/errors";
import { endsSession } from "./model";

/** In an orderly end one side announces it before the connection breaks. */
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
