/** Asks which local file a file of a worker is, where the sidecar doesn't know. */

import { basename, posix } from "node:path";

import * as vscode from "vscode";

import type { App } from "../../app";
import { plain } from "../../common/texts";
import { workspaceFolders } from "../../workspace";
import { askForPath } from "../../typed_paths";
import { RESOLVE, SET_FOLDER, type Resolution } from "./messages";
import { stopPlaceOf, type StopPlace } from "./stop_place";

type FileAnswer = { readonly local: string } | "folder" | "worker";

/**
 * Asks at most once per cluster and folder of the worker; the sidecar stores the answer, and "use the
 * worker's file" for as long as this window is open.
 */
export class LocalFileQuestion {
  private readonly declined = new Set<string>();

  constructor(private readonly app: App) {}

  /** Completes the configuration of an attached worker with its local file, or with "" for the worker's own text. */
  async completed(config: vscode.DebugConfiguration): Promise<vscode.DebugConfiguration> {
    const place = stopPlaceOf(config);
    if (!place || config["local"] !== "" || place.path === "") {
      return config;
    }
    const local = await this.app.errors.shown("finding the local file", () =>
      this.localFile(place),
    );
    return { ...config, local: local ?? "" };
  }

  /** The local file for `place`, or "" when the worker's own text is shown instead. */
  private async localFile(place: StopPlace): Promise<string> {
    const key = `${place.cluster} ${posix.dirname(place.path)}`;
    if (this.declined.has(key)) {
      return "";
    }
    const local = await localFileOf(this.app, place);
    if (local === undefined) {
      this.declined.add(key);
    }
    return local ?? "";
  }
}

/**
 * The local file for `place`, "" if there is none; undefined where the user was asked and chose none.  The worker is ""
 * for a process to which nothing is attached: its own file can't be read.
 */
export async function localFileOf(app: App, place: StopPlace): Promise<string | undefined> {
  const resolution = await resolve(app, place);
  if (resolution.how !== "ask") {
    return resolution.local;
  }
  const { cluster, path, worker } = place;
  const local = await ask(path, resolution.candidates, worker !== "");
  if (local === undefined) {
    return undefined;
  }
  await app.sidecar.request(SET_FOLDER, { cluster, remote: path, local });
  return (await resolve(app, place)).local;
}

function resolve(app: App, { cluster, worker, path }: StopPlace): Promise<Resolution> {
  return app.sidecar.request(RESOLVE, {
    cluster,
    worker_id: worker,
    path,
    workspace_folders: workspaceFolders(),
  });
}

/** The local file, or a folder that holds it; undefined when the worker's own text will do. */
async function ask(
  remoteFile: string,
  candidates: readonly string[],
  canReadRemote: boolean,
): Promise<string | undefined> {
  const answer = await pickAnswer(remoteFile, candidates, canReadRemote);
  if (answer === undefined || answer === "worker") {
    return undefined;
  }
  return answer === "folder" ? await askFolder(remoteFile) : answer.local;
}

async function pickAnswer(
  remoteFile: string,
  candidates: readonly string[],
  canReadRemote: boolean,
): Promise<FileAnswer | undefined> {
  const worker: FileAnswer = "worker";
  const items: (vscode.QuickPickItem & { answer: FileAnswer })[] = [
    ...candidates.map((local) => ({
      label: plain(vscode.workspace.asRelativePath(local)),
      description: plain(local),
      answer: { local },
    })),
    { label: vscode.l10n.t("Select the folder that contains it…"), answer: "folder" },
    ...(canReadRemote
      ? [{ label: vscode.l10n.t("Open the worker’s file, read-only"), answer: worker }]
      : []),
  ];
  const picked = await vscode.window.showQuickPick(items, {
    title: plain(vscode.l10n.t("Select your file for {0} of the worker", basename(remoteFile))),
    placeHolder: plain(remoteFile),
    ignoreFocusOut: true,
  });
  return picked?.answer;
}

/** The folder of this machine that `remote`, a file or folder of the worker, is in. */
export async function askFolder(remote: string): Promise<string | undefined> {
  return await askForPath({
    kind: "folder",
    openLabel: vscode.l10n.t("Use This Folder"),
    title: plain(vscode.l10n.t("Select your folder that contains {0}", remote)),
  });
}
