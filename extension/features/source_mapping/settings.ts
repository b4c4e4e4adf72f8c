/** Tells the sidecar the person's own mappings, at its start and whenever the setting changes. */

import { homedir } from "node:os";

import * as vscode from "vscode";

import type { Disposable } from "../../common/disposables";
import { SETTINGS, type Settings } from "../../contributions";
import type { Parts } from "../../parts";
import { CONFIGURE } from "./messages";
import { expandedMappings } from "./model";

export function keepConfigured({ sidecar, log }: Parts): Disposable[] {
  const configure = async (): Promise<void> => {
    try {
      await sidecar.request(CONFIGURE, { mappings: configured() });
    } catch (error) {
      log.warn(`pathMappings were not taken: ${String(error)}`);
    }
  };
  return [
    sidecar.onStarted(() => {
      void configure();
    }),
    vscode.workspace.onDidChangeConfiguration((change) => {
      const matters = change.affectsConfiguration("eagleray.pathMappings");
      // A sidecar that starts later is told at its start.
      if (matters && sidecar.state.value === "ready") {
        void configure();
      }
    }),
  ];
}

function configured(): ReturnType<typeof expandedMappings> {
  const setting = vscode.workspace
    .getConfiguration("eagleray")
    .get<Settings["pathMappings"]>("pathMappings", SETTINGS.pathMappings);
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? homedir();
  return expandedMappings(setting, folder, homedir());
}
