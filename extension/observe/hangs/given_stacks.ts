/** Asks where stacks are that others have dumped. */

import { basename } from "node:path";

import * as vscode from "vscode";

import { understoodPath } from "../../typed_paths";
import { pickOrType, type PickRow } from "../../typed_picker";
import type { GivenStacks } from "./messages";

/** With the name of where they are. */
interface NamedStacks extends GivenStacks {
  readonly name: string;
}

type StacksSource = () => Promise<NamedStacks | undefined>;

/** Undefined if the user selects nothing. */
export async function pickedStacks(): Promise<NamedStacks | undefined> {
  const rows: PickRow<StacksSource>[] = [];
  const copied = await vscode.env.clipboard.readText();
  if (copied.trim() !== "") {
    const name = vscode.l10n.t("Clipboard");
    rows.push(ofText(name, copied, vscode.l10n.t("{0} lines", lines(copied))));
  }
  const document = vscode.window.activeTextEditor?.document;
  if (document !== undefined && document.getText().trim() !== "") {
    const name = basename(document.fileName);
    rows.push({
      ...ofText(name, document.getText(), ""),
      label: vscode.l10n.t("Active Editor"),
      description: name,
    });
  }
  rows.push(
    ofPaths(vscode.l10n.t("Files…"), vscode.l10n.t("dumps, logs or archives"), false),
    ofPaths(vscode.l10n.t("Folder…"), vscode.l10n.t("with the dumps of several ranks"), true),
  );
  const title = vscode.l10n.t("Open the stacks of what?");
  const chosen = await pickOrType<StacksSource>({
    title,
    placeholder: vscode.l10n.t("Select, or paste the path of a file or folder"),
    rows: () => rows,
    understood: (text) =>
      understoodPath(text, "any", (path) => () => Promise.resolve(ofFiles(path))),
  });
  return await chosen?.();
}

function ofText(name: string, text: string, description: string): PickRow<StacksSource> {
  return { label: name, description, value: () => Promise.resolve({ name, paths: [], text }) };
}

function ofPaths(label: string, description: string, isFolder: boolean): PickRow<StacksSource> {
  const value = async (): Promise<NamedStacks | undefined> => {
    const uris = await vscode.window.showOpenDialog({
      title: vscode.l10n.t("Open Stacks"),
      openLabel: vscode.l10n.t("Open"),
      canSelectMany: !isFolder,
      canSelectFiles: !isFolder,
      canSelectFolders: isFolder,
    });
    const [first, ...others] = (uris ?? []).map(({ fsPath }) => fsPath);
    return first === undefined ? undefined : ofFiles(first, ...others);
  };
  return { label, description, value };
}

function ofFiles(first: string, ...others: string[]): NamedStacks {
  return { name: basename(first), paths: [first, ...others], text: "" };
}

function lines(text: string): number {
  return text.trim().split("\n").length;
}
