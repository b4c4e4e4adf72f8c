/** Asks the sidecar to attach. */

import * as vscode from "vscode";

import { longWork } from "../../long_work";
import type { Parts } from "../../parts";
import { ATTACH, type Attached } from "./messages";
import type { Target } from "./model";

export function attachRequest(
  parts: Parts,
  target: Target,
  unlessTaken: boolean,
): Promise<Attached> {
  const asked = { ...target, workspace_folders: workspaceFolders(), unless_taken: unlessTaken };
  return longWork("Attaching", (options) => parts.sidecar.request(ATTACH, asked, options));
}

function workspaceFolders(): string[] {
  return (vscode.workspace.workspaceFolders ?? [])
    .filter((folder) => folder.uri.scheme === "file")
    .map((folder) => folder.uri.fsPath);
}
