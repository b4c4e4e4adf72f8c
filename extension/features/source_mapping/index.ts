/** Source mapping: which local file a worker's file is, and whether both are the same. */

import * as vscode from "vscode";

import type { Disposable } from "../../common/disposables";
import { DEBUG_TYPE } from "../../contributions";
import type { Parts } from "../../parts";
import { registerCommands } from "./commands";
import { MappingConfigurations } from "./configurations";
import { sayDifferences } from "./differences";
import { Question } from "./question";
import { keepConfigured } from "./settings";
import { WORKER_SCHEME, WorkerFiles } from "./worker_files";

export function register(parts: Parts): Disposable[] {
  const configurations = new MappingConfigurations(parts, new Question(parts));
  return [
    ...keepConfigured(parts),
    vscode.debug.registerDebugConfigurationProvider(DEBUG_TYPE, configurations),
    vscode.workspace.registerTextDocumentContentProvider(WORKER_SCHEME, new WorkerFiles(parts)),
    sayDifferences(parts),
    ...registerCommands(parts),
  ];
}
