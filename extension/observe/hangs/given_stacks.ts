/** Asks where stacks are that others have dumped. */

import { basename } from "node:path";

import * as vscode from "vscode";

import type { GivenStacks } from "./messages";

/** With the name of where they are. */
interface NamedStacks extends GivenStacks {
  readonly name: string;
}

interface SourceItem extends vscode.QuickPickItem {
  readonly stacks: () => Promise<NamedStacks | undefined>;
}

/** Undefined if the user selects nothing. */
export async function pickedStacks(): Promise<NamedStacks | undefined> {
  const items: SourceItem[] = [];
  const copied = await vscode.env.clipboard.readText();
  if (copied.trim() !== "") {
    const name = vscode.l10n.t("Clipboard");
    items.push(ofText(name, copied, vscode.l10n.t("{0} lines", lines(copied))));
  }
  const document = vscode.window.activeTextEditor?.document;
  if (document !== undefined && document.getText().trim() !== "") {
    const name = basename(document.fileName);
    items.push({
      ...ofText(name, document.getText(), ""),
      label: vscode.l10n.t("Active Editor"),
      description: name,
    });
  }
  items.push(
    ofPaths(vscode.l10n.t("Files…"), vscode.l10n.t("dumps, logs or archives"), false),
    ofPaths(vscode.l10n.t("Folder…"), vscode.l10n.t("with the dumps of several ranks"), true),
  );
  const title = vscode.l10n.t("Open the stacks of what?");
  const item = await vscode.window.showQuickPick(items, { title });
  return await item?.stacks();
}

function ofText(name: string, text: string, description: string): SourceItem {
  return { label: name, description, stacks: () => Promise.resolve({ name, paths: [], text }) };
}

function ofPaths(label: string, description: string, isFolder: boolean): SourceItem {
  const stacks = async (): Promise<NamedStacks | undefined> => {
    const uris = await vscode.window.showOpenDialog({
      title: vscode.l10n.t("Open Stacks"),
      openLabel: vscode.l10n.t("Open"),
      canSelectMany: !isFolder,
      canSelectFiles: !isFolder,
      canSelectFolders: isFolder,
    });
    const paths = (uris ?? []).map(({ fsPath }) => fsPath);
    const [first] = paths;
    return first === undefined ? undefined : { name: basename(first), paths, text: "" };
  };
  return { label, description, stacks };
}

function lines(text: string): number {
  return text.trim().split("\n").length;
}
