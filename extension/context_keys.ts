/** Sets the context keys that menus, keys and welcome texts depend on. */

import * as vscode from "vscode";

import type { ContextKeys } from "./contributions";

export function setContextKey<K extends keyof ContextKeys>(key: K, value: ContextKeys[K]): void {
  void vscode.commands.executeCommand("setContext", key, value);
}
