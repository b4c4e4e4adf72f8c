/** Source mapping: which local file a worker's file is, and whether both are the same. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { registerCommands } from "../../commands";
import type { Disposable } from "../../common/disposables";
import { COMMANDS } from "../../contributions";
import { sendMappings } from "./path_mappings";
import { reportDifferences, WORKER_SCHEME, WorkerFiles } from "./worker_files";

export function register(app: App): Disposable[] {
  return [
    ...sendMappings(app),
    vscode.workspace.registerTextDocumentContentProvider(WORKER_SCHEME, new WorkerFiles(app)),
    reportDifferences(app),
    ...registerCommands(app, () => import("./commands.js"), [
      [COMMANDS.goToLine, "opening the line", (to, rows) => to.goToLine(rows)],
      [
        COMMANDS.mapSourceFolder,
        "setting the local folder",
        (to, rows) => to.setLocalFolder(app, rows),
      ],
      [COMMANDS.openWorkerFile, "opening the worker’s file", (to) => to.openWorkerFile(app)],
      [COMMANDS.compareWithWorker, "comparing with the worker", (to) => to.compareWithWorker(app)],
    ]),
  ];
}
