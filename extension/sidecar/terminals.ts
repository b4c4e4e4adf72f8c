/** Puts the command `eagleray` on the PATH of the editor's terminals. */

import * as path from "node:path";

import type { ExtensionContext } from "vscode";

import type { FoundPython } from "./interpreter";

/** The variable that bin/eagleray reads. */
const PYTHON_VARIABLE = "EAGLERAY_PYTHON";

export function prepareTerminals(context: ExtensionContext): void {
  const variables = context.environmentVariableCollection;
  variables.description = "The command eagleray";
  // Terminals that open before the sidecar has started get what was right the last time.
  variables.persistent = true;
  variables.prepend("PATH", context.asAbsolutePath("bin") + path.delimiter);
}

export function tellTerminals(context: ExtensionContext, { python }: FoundPython): void {
  context.environmentVariableCollection.replace(PYTHON_VARIABLE, python);
}
