/** Tells the sidecar the person's own mappings, at its start and whenever the setting changes. */

import { homedir } from "node:os";

import * as vscode from "vscode";

import type { Disposable } from "../../common/disposables";
import type { Parts } from "../../parts";
import { onSettingChanged, setting } from "../../settings";
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
    onSettingChanged("pathMappings", () => {
      // A sidecar that starts later is told at its start.
      if (sidecar.state.value === "ready") {
        void configure();
      }
    }),
  ];
}

function configured(): ReturnType<typeof expandedMappings> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? homedir();
  return expandedMappings(setting("pathMappings"), folder, homedir());
}
