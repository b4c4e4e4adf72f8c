/** The Python that the person chose in the Python extension, which Eagleray does not depend on. */

import * as vscode from "vscode";

const ID = "ms-python.python";

export function hasPythonExtension(): boolean {
  return vscode.extensions.getExtension(ID)?.isActive === true;
}

/** Asks the Python extension only when it is there and runs. */
export async function activeEnvironment(): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension<PythonExtension>(ID);
  if (extension?.isActive !== true) {
    return undefined;
  }
  try {
    const environments = extension.exports.environments;
    const chosen = environments?.getActiveEnvironmentPath();
    const resolved = chosen && (await environments?.resolveEnvironment(chosen));
    return resolved?.executable.uri?.fsPath;
  } catch {
    return undefined;
  }
}

/** The part of the Python extension's interface that is used here. */
interface PythonExtension {
  readonly environments?: {
    getActiveEnvironmentPath(): object;
    resolveEnvironment(
      environment: object,
    ): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
  };
}
