/** The commands of source mapping; read when the first of them is called. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { EaglerayError, noCluster } from "../../common/errors";
import { plain } from "../../common/texts";
import type { Row } from "../../rows";
import { clusterIdOf } from "../../rows";
import { pausedWorkersOf } from "../../rows";
import { askFolder } from "./local_file_question";
import { MAPPINGS, SET_FOLDER, type WorkerFile } from "./messages";
import { workerPath } from "./path_mappings";
import { localOf, stopPlaceOf } from "./stop_place";
import { showDifference, WORKER_SCHEME, workerUri } from "./worker_files";

export async function compareWithWorker(app: App): Promise<void> {
  await showDifference(await fileInView(app));
}

/** Opens the line at which the worker of the row is stopped: in the user's file, else in the worker's own. */
export async function goToLine(rows: readonly Row[]): Promise<void> {
  const [worker] = pausedWorkersOf(rows);
  if (!worker?.location) {
    void vscode.window.showInformationMessage(vscode.l10n.t("This worker's line is unknown."));
    return;
  }
  const { path, line, local } = worker.location;
  const { cluster, worker_id } = worker;
  const uri =
    local === "" ? workerUri({ cluster, worker_id, path, local }) : vscode.Uri.file(local);
  const selection = new vscode.Range(line - 1, 0, line - 1, 0);
  await vscode.window.showTextDocument(uri, { selection, preview: true });
}

/**
 * Asks for the folder of this machine that holds:
 *
 * 1. the file at which the worker of the row waits;
 * 2. else the file at which the session in focus stopped, when its worker is of the cluster;
 * 3. else a folder of the worker that the user types.
 */
export async function setLocalFolder(app: App, rows: readonly Row[]): Promise<void> {
  const cluster = await clusterFor(app, rows);
  if (cluster === undefined) {
    return;
  }
  const stop = stopOf(rows, cluster);
  const remote = stop === "" ? await typedFolder(app, cluster) : stop;
  const local = remote === undefined ? undefined : await askFolder(remote);
  if (remote !== undefined && local !== undefined) {
    const { mappings } = await app.sidecar.request(SET_FOLDER, { cluster, remote, local });
    const pair = mappings.find((mapping) => mapping.local === local);
    void vscode.window.showInformationMessage(
      plain(vscode.l10n.t("Mapped {0} of the worker to {1}.", pair?.remote ?? remote, local), 600),
    );
  }
}

function stopOf(rows: readonly Row[], cluster: string): string {
  const [worker] = pausedWorkersOf(rows);
  if (worker?.location) {
    return worker.location.path;
  }
  const session = vscode.debug.activeDebugSession;
  const place = session && stopPlaceOf(session.configuration);
  return place?.cluster === cluster ? place.path : "";
}

async function typedFolder(app: App, cluster: string): Promise<string | undefined> {
  const { mappings } = await app.sidecar.request(MAPPINGS, { cluster });
  return await vscode.window.showInputBox({
    title: vscode.l10n.t("Folder of the worker"),
    prompt: vscode.l10n.t("Path of the folder on the worker. You select your folder next."),
    value: mappings[0]?.remote ?? "",
    validateInput: (text) =>
      text.startsWith("/") ? undefined : vscode.l10n.t("Enter an absolute path."),
  });
}

async function clusterFor(app: App, rows: readonly Row[]): Promise<string | undefined> {
  for (const row of rows) {
    const id = clusterIdOf(row);
    if (id !== undefined) {
      return id;
    }
    if (row.row === "worker" || row.row === "group") {
      return row.row === "group" ? row.cluster : row.worker.cluster;
    }
  }
  const session = vscode.debug.activeDebugSession;
  const place = session && stopPlaceOf(session.configuration);
  const { clusters } = app.clusters.value;
  if (place !== undefined) {
    return place.cluster;
  }
  const [only] = clusters;
  if (only === undefined) {
    throw noCluster();
  }
  if (clusters.length === 1) {
    return only.id;
  }
  const items = clusters.map((cluster) => ({
    label: plain(cluster.name),
    description: cluster.id,
  }));
  return (
    await vscode.window.showQuickPick(items, { placeHolder: vscode.l10n.t("Select a cluster") })
  )?.description;
}

export async function openWorkerFile(app: App): Promise<void> {
  const document = await vscode.workspace.openTextDocument(workerUri(await fileInView(app)));
  await vscode.window.showTextDocument(document, { preview: true });
}

/**
 * The file for a command without a row.
 *
 * 1. A document of a worker: itself.  2. With a session in focus: the local file in the editor, by the mappings.
 * 3. No file in the editor: the one at which the session stopped.
 */
async function fileInView(app: App): Promise<WorkerFile> {
  const uri = vscode.window.activeTextEditor?.document.uri;
  if (uri?.scheme === WORKER_SCHEME) {
    return { ...(JSON.parse(uri.query) as WorkerFile), path: uri.path };
  }
  const session = vscode.debug.activeDebugSession;
  const place = session && stopPlaceOf(session.configuration);
  if (!place) {
    throw new EaglerayError(
      "no-session",
      vscode.l10n.t("You are not debugging a worker."),
      vscode.l10n.t("Attach to a worker first."),
    );
  }
  const { cluster, worker: worker_id } = place;
  const stopLocal = localOf(session.configuration);
  if (uri?.scheme !== "file" || uri.fsPath === stopLocal) {
    return { cluster, worker_id, path: place.path, local: stopLocal };
  }
  const { mappings } = await app.sidecar.request(MAPPINGS, { cluster });
  return { cluster, worker_id, path: workerPath(uri.fsPath, mappings), local: uri.fsPath };
}
