/** Source mapping: which local file a worker's file is, and whether both are the same. */

import * as vscode from "vscode";

import { registerCommands } from "../../commands";
import type { Disposable } from "../../common/disposables";
import { COMMANDS } from "../../contributions";
import type { Parts } from "../../parts";
import { keepConfigured } from "./path_mappings";
import { sayDifferences, WORKER_SCHEME, WorkerFiles } from "./worker_files";

export function register(parts: Parts): Disposable[] {
  return [
    ...keepConfigured(parts),
    vscode.workspace.registerTextDocumentContentProvider(WORKER_SCHEME, new WorkerFiles(parts)),
    sayDifferences(parts),
    ...registerCommands(parts, () => import("./commands.js"), [
      [
        COMMANDS.setLocalFolder,
        "setting the local folder",
        (to, rows) => to.setLocalFolder(parts, rows),
      ],
      [COMMANDS.openWorkerFile, "opening the worker’s file", (to) => to.openWorkerFile(parts)],
      [
        COMMANDS.compareWithWorker,
        "comparing with the worker",
        (to) => to.compareWithWorker(parts),
      ],
    ]),
  ];
}
