/** Tabs with pages of ours that come back after a reload of the window. */

import * as vscode from "vscode";

import type { App } from "../app";
import type { Disposable } from "../common/disposables";

interface Revives {
  revive(panel: vscode.WebviewPanel, state: unknown): unknown;
}

/** `doing` is what it does in the words of an error message. */
export function restoreTabs(
  { errors }: App,
  type: string,
  doing: string,
  handlers: () => Promise<Revives>,
): Disposable {
  return vscode.window.registerWebviewPanelSerializer(type, {
    deserializeWebviewPanel: async (panel, state: unknown) => {
      await errors.shown(doing, async () => (await handlers()).revive(panel, state));
    },
  });
}
