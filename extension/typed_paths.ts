/** Asks for files and folders of this machine: pasted or typed, listed of the workspace, or selected in a dialog. */

import { access, constants, stat } from "node:fs/promises";
import * as os from "node:os";
import * as path from "node:path";
import { fileURLToPath } from "node:url";

import * as vscode from "vscode";

import { plain } from "./common/texts";
import { pickOrType, refusedRow, usedRow, type PickRow } from "./typed_picker";
import { workspaceFolder } from "./workspace";

/** `program`: a file that can be executed, or the folder of a Python environment, whose Python is meant. */
type PathKind = "file" | "folder" | "any" | "program";

export interface PathQuestion {
  readonly title: string;
  /** The button of the dialog. */
  readonly openLabel?: string;
  readonly kind: PathKind;
  /** Extensions of the files in the dialog. */
  readonly filters?: Record<string, string[]>;
  /** A pattern for files of the workspace that are listed. */
  readonly listed?: string;
  /** Where the dialog begins. */
  readonly start?: string;
  readonly canSelectMany?: boolean;
}

/** A project may have thousands of logs; a longer list is better searched in the dialog. */
const MOST_LISTED = 30;

export async function askForPath(question: PathQuestion): Promise<string | undefined> {
  return (await askForPaths(question))[0];
}

/** Several only from the dialog; none when the user cancels. */
export async function askForPaths(question: PathQuestion): Promise<readonly string[]> {
  const { kind, title, listed } = question;
  let files: readonly vscode.Uri[] = [];
  const chosen = await pickOrType<Chosen>({
    title,
    placeholder: PLACEHOLDERS[kind],
    rows: () => [...files.map(rowOf), ...browseRows(question)],
    understood: (text) => understoodPath(text, kind, chosenPath),
    ...(listed !== undefined && {
      load: async (cancel) => {
        files = await vscode.workspace.findFiles(listed, undefined, MOST_LISTED, cancel);
      },
    }),
  });
  return (await chosen?.()) ?? [];
}

/** The paths of a row: at once, or from a dialog. */
type Chosen = () => Promise<readonly string[]>;

const PLACEHOLDERS: Readonly<Record<PathKind, string>> = {
  file: vscode.l10n.t("Path of a file"),
  folder: vscode.l10n.t("Path of a folder"),
  any: vscode.l10n.t("Path of a file or folder"),
  program: vscode.l10n.t("Path of a Python, or of its environment"),
};

function chosenPath(file: string): Chosen {
  return () => Promise.resolve([file]);
}

function rowOf({ fsPath }: vscode.Uri): PickRow<Chosen> {
  const label = plain(vscode.workspace.asRelativePath(fsPath));
  return { label, description: plain(path.basename(fsPath)), value: chosenPath(fsPath) };
}

/** A dialog of Linux or Windows can't offer both files and folders. */
function browseRows(question: PathQuestion): readonly PickRow<Chosen>[] {
  const browse = (label: string, isFolder: boolean): PickRow<Chosen> => ({
    label,
    alwaysShow: true,
    value: () => browsed(question, isFolder),
  });
  return question.kind === "any"
    ? [
        browse(vscode.l10n.t("$(file) Select a File…"), false),
        browse(vscode.l10n.t("$(folder) Select a Folder…"), true),
      ]
    : [browse(vscode.l10n.t("$(folder) Browse…"), question.kind === "folder")];
}

async function browsed(
  { title, openLabel, filters, canSelectMany, start }: PathQuestion,
  isFolder: boolean,
): Promise<readonly string[]> {
  const uris = await vscode.window.showOpenDialog({
    title,
    canSelectFiles: !isFolder,
    canSelectFolders: isFolder,
    canSelectMany: canSelectMany ?? false,
    ...(openLabel !== undefined && { openLabel }),
    ...(filters !== undefined && !isFolder && { filters }),
    ...(start !== undefined && { defaultUri: vscode.Uri.file(start) }),
  });
  return (uris ?? []).map(({ fsPath }) => fsPath);
}

/**
 * The row of a typed path; undefined for other texts, unless the workspace has such a file.
 *
 * Quotes, `file://` and `~` are understood as in a terminal, and paths that don't begin with `/` from the workspace on.
 */
export async function understoodPath<T>(
  text: string,
  kind: PathKind,
  valueOf: (file: string) => T,
  descriptionOf: (file: string) => Promise<string> = () => Promise.resolve(""),
): Promise<PickRow<T> | undefined> {
  const file = pathOf(text, os.homedir(), workspaceFolder() || os.homedir());
  if (file === undefined) {
    return undefined;
  }
  const { usable, problem } = await examined(file, kind);
  if (usable !== undefined) {
    const label = vscode.l10n.t("Use {0}", plain(usable, 300));
    return usedRow(label, await descriptionOf(usable), valueOf(usable));
  }
  const isPath = /^["']?(?:[/~]|\.\.?\/|file:\/\/)/.test(text);
  return isPath ? refusedRow(plain(file, 300), problem) : undefined;
}

/** The absolute path that a text names; undefined for a text that can't be a path of this machine. */
export function pathOf(text: string, home: string, folder: string): string | undefined {
  const written = text.trim().replace(/^(["'])(.*)\1$/, "$2");
  if (written.startsWith("file://")) {
    return URL.canParse(written) ? localPath(written) : undefined;
  }
  if (written === "" || written.includes("\0") || written.includes("://")) {
    return undefined;
  }
  const isHome = written === "~" || written.startsWith("~/");
  return path.resolve(folder, isHome ? path.join(home, written.slice(1)) : written);
}

/** undefined for a file of another host, and one whose name has an encoded slash. */
function localPath(url: string): string | undefined {
  try {
    return fileURLToPath(url);
  } catch {
    return undefined;
  }
}

interface Examined {
  readonly usable?: string;
  readonly problem: string;
}

async function examined(file: string, kind: PathKind): Promise<Examined> {
  const status = await stat(file).catch(() => undefined);
  if (status === undefined) {
    return { problem: vscode.l10n.t("This path doesn’t exist, or you can’t read it.") };
  }
  if (kind === "program") {
    const program = status.isDirectory() ? path.join(file, "bin", "python") : file;
    return (await isExecutable(program))
      ? { usable: program, problem: "" }
      : { problem: vscode.l10n.t("No Python that you can execute is at this path.") };
  }
  if (kind === "file" && status.isDirectory()) {
    return { problem: vscode.l10n.t("This is a folder. Enter the path of a file.") };
  }
  if (kind === "folder" && !status.isDirectory()) {
    return { problem: vscode.l10n.t("This is a file. Enter the path of a folder.") };
  }
  return { usable: file, problem: "" };
}

async function isExecutable(file: string): Promise<boolean> {
  return await access(file, constants.X_OK).then(
    async () => (await stat(file)).isFile(),
    () => false,
  );
}
