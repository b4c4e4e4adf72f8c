/** The settings of Eagleray, and the context keys that package.json reads. */

import * as vscode from "vscode";

import type { Disposable } from "./common/disposables";
import { SETTINGS, type ContextKeys, type Settings } from "./contributions";

const SECTION = "eagleray";

/** The value of a setting; its default where settings.json has another type. */
export function setting<K extends keyof Settings>(name: K): Settings[K] {
  const value = vscode.workspace.getConfiguration(SECTION).get<unknown>(name);
  const sameType = typeof value === typeof SETTINGS[name] && value !== null;
  return sameType ? (value as Settings[K]) : SETTINGS[name];
}

/** `name` is a setting, or the part before the dot that several begin with. */
export function onSettingChanged(name: keyof Settings | "ssh", listener: () => void): Disposable {
  return vscode.workspace.onDidChangeConfiguration((change) => {
    if (change.affectsConfiguration(`${SECTION}.${name}`)) {
      listener();
    }
  });
}

/** Writes a setting of the workspace; a window without a folder has none. */
export async function changeWorkspaceSetting<K extends keyof Settings>(
  name: K,
  value: Settings[K],
): Promise<void> {
  await vscode.workspace
    .getConfiguration(SECTION)
    .update(name, value, vscode.ConfigurationTarget.Workspace);
}

/** Writes a setting of the user, not of the workspace. */
export async function changeSetting<K extends keyof Settings>(
  name: K,
  value: Settings[K],
): Promise<void> {
  await vscode.workspace
    .getConfiguration(SECTION)
    .update(name, value, vscode.ConfigurationTarget.Global);
}

export function setContextKey<K extends keyof ContextKeys>(key: K, value: ContextKeys[K]): void {
  void vscode.commands.executeCommand("setContext", key, value);
}
