/** The one question when it cannot be known which local file a worker's file is. */

import { existsSync } from "node:fs";
import { basename, posix } from "node:path";

import * as vscode from "vscode";

import { plain } from "../../common/texts";
import type { Parts } from "../../parts";
import { RESOLVE, SET_FOLDER, type Resolution } from "./messages";
import { pairOfFiles, pairOfFolder, type FolderPair } from "./model";

/** Where a worker stands, as the configuration of its session says. */
export interface Place {
  readonly cluster: string;
  readonly worker: string;
  readonly path: string;
}

type Answer = { readonly file: string } | "folder" | "worker";

/**
 * Asks at most once per cluster and folder of the worker; the answer is kept by the sidecar, and "use the
 * worker's file" for as long as this window is open.
 */
export class Question {
  private readonly left = new Set<string>();

  constructor(private readonly parts: Parts) {}

  /** The local file for `place`, or "" when the worker's own text is shown instead. */
  async localFile(place: Place): Promise<string> {
    const key = `${place.cluster} ${posix.dirname(place.path)}`;
    if (this.left.has(key)) {
      return "";
    }
    const resolution = await this.resolve(place);
    if (resolution.how !== "ask") {
      return resolution.local;
    }
    const pair = await this.ask(place.path, resolution.candidates);
    if (!pair) {
      this.left.add(key);
      return "";
    }
    await this.parts.sidecar.request(SET_FOLDER, { cluster: place.cluster, ...pair });
    return (await this.resolve(place)).local;
  }

  private resolve({ cluster, worker, path }: Place): Promise<Resolution> {
    const folders = (vscode.workspace.workspaceFolders ?? [])
      .filter((folder) => folder.uri.scheme === "file")
      .map((folder) => folder.uri.fsPath);
    return this.parts.sidecar.request(RESOLVE, {
      cluster,
      worker_id: worker,
      path,
      workspace_folders: folders,
    });
  }

  private async ask(
    remoteFile: string,
    candidates: readonly string[],
  ): Promise<FolderPair | undefined> {
    const answer = await pickAnswer(remoteFile, candidates);
    if (answer === undefined || answer === "worker") {
      return undefined;
    }
    return answer === "folder" ? await askFolder(remoteFile) : pairOfFiles(remoteFile, answer.file);
  }
}

async function pickAnswer(
  remoteFile: string,
  candidates: readonly string[],
): Promise<Answer | undefined> {
  const items: (vscode.QuickPickItem & { answer: Answer })[] = [
    ...candidates.map((file) => ({
      label: plain(vscode.workspace.asRelativePath(file)),
      description: plain(file),
      answer: { file },
    })),
    { label: "Choose the folder that holds it…", answer: "folder" },
    { label: "Use the worker’s own file, read-only", answer: "worker" },
  ];
  const picked = await vscode.window.showQuickPick(items, {
    title: plain(`Which of your files is ${basename(remoteFile)} of the worker?`),
    placeHolder: plain(remoteFile),
    ignoreFocusOut: true,
  });
  return picked?.answer;
}

/** Asks until the folder holds the file or the person gives up. */
export async function askFolder(remoteFile: string): Promise<FolderPair | undefined> {
  for (;;) {
    const [chosen] =
      (await vscode.window.showOpenDialog({
        canSelectFolders: true,
        canSelectFiles: false,
        openLabel: "Use This Folder",
        title: plain(`The folder that holds ${remoteFile}`),
      })) ?? [];
    if (!chosen) {
      return undefined;
    }
    const pair = pairOfFolder(remoteFile, chosen.fsPath, existsSync);
    if (pair) {
      return pair;
    }
    const again = await vscode.window.showWarningMessage(
      plain(`${chosen.fsPath} holds no ${basename(remoteFile)}.`),
      "Choose Another",
    );
    if (again === undefined) {
      return undefined;
    }
  }
}
