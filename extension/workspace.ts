/** The workspace of this window: its name, its folders, its trust, and the Python that is selected in it. */

import * as vscode from "vscode";

/** Names the window in what it starts: by its folder, so that a reloaded window finds its own again. */
export function windowName(): string {
  return workspaceFolder() || `window ${vscode.env.sessionId}`;
}

/** The first folder of the window; "" for a window without one. */
export function workspaceFolder(): string {
  return workspaceFolders()[0] ?? "";
}

/** The folders of the window that are on this machine's disk. */
export function workspaceFolders(): string[] {
  return (vscode.workspace.workspaceFolders ?? [])
    .filter(({ uri }) => uri.scheme === "file")
    .map(({ uri }) => uri.fsPath);
}

/** The folders whose rules the doctor reads: none while the user doesn't trust them. */
export function ruleFolders(): { readonly rule_folders?: string[] } {
  const folders = vscode.workspace.isTrusted ? workspaceFolders() : [];
  return folders.length === 0 ? {} : { rule_folders: folders };
}

const PYTHON_EXTENSION = "ms-python.python";

export function hasPythonExtension(): boolean {
  return vscode.extensions.getExtension(PYTHON_EXTENSION)?.isActive === true;
}

/** The Python that is selected in the Python extension, for a folder; undefined where that is missing or not active. */
export async function activeEnvironment(folder?: string): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension<PythonExtension>(PYTHON_EXTENSION);
  if (extension?.isActive !== true) {
    return undefined;
  }
  try {
    const environments = extension.exports.environments;
    const resource = folder === undefined ? undefined : vscode.Uri.file(folder);
    const chosen = environments?.getActiveEnvironmentPath(resource);
    const resolved = chosen && (await environments?.resolveEnvironment(chosen));
    return resolved?.executable.uri?.fsPath;
  } catch {
    return undefined;
  }
}

/** The part of the Python extension's interface that is used here. */
interface PythonExtension {
  readonly environments?: {
    getActiveEnvironmentPath(resource?: vscode.Uri): object;
    resolveEnvironment(
      environment: object,
    ): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
  };
}

/** Shows `sentence` with a button that leads to the editor's page about trust. */
export async function askForTrust(sentence: string): Promise<void> {
  const manage = vscode.l10n.t("Manage Workspace Trust");
  if ((await vscode.window.showInformationMessage(sentence, manage)) === manage) {
    await vscode.commands.executeCommand("workbench.trust.manage");
  }
}

/** Runs `work` in a trusted workspace only; menus are disabled elsewhere, but keys and other extensions can call a command. */
export async function ifTrusted<T>(work: () => T | Promise<T>): Promise<T | undefined> {
  if (!vscode.workspace.isTrusted) {
    await askForTrust(vscode.l10n.t("Trust this workspace to run programs."));
    return undefined;
  }
  return await work();
}
