/** Path mappings: the setting, and the worker's path of a local file. */

import { homedir } from "node:os";
import * as path from "node:path";

import * as vscode from "vscode";

import type { App } from "../../app";
import type { Disposable } from "../../common/disposables";
import { onSettingChanged, setting } from "../../settings";
import { CONFIGURE, type PathMapping } from "./messages";

/** The worker's path of a local file, by the first mapping that contains it, else the same path. */
export function workerPath(localFile: string, mappings: readonly PathMapping[]): string {
  for (const { remote, local } of mappings) {
    const inside = path.relative(local, localFile);
    if (inside !== "" && !inside.startsWith("..") && !path.isAbsolute(inside)) {
      return path.posix.join(remote, ...inside.split(path.sep));
    }
    if (inside === "") {
      return remote;
    }
  }
  return localFile;
}

/** The setting with `${workspaceFolder}`, `${userHome}` and `~` replaced. */
export function expandedMappings(
  setting: Readonly<Record<string, readonly PathMapping[]>>,
  workspaceFolder: string,
  home: string,
): Record<string, PathMapping[]> {
  const folder = (text: string): string =>
    text
      .replace(/^~(?=\/|$)/, () => home)
      .replaceAll("${workspaceFolder}", () => workspaceFolder)
      .replaceAll("${userHome}", () => home);
  return Object.fromEntries(
    Object.entries(setting).map(([cluster, pairs]) => [
      cluster,
      (Array.isArray(pairs) ? pairs : [])
        .filter(isPair)
        .map(({ remote, local }) => ({ remote, local: folder(local) })),
    ]),
  );
}

/** The setting is written by hand, so it may contain any value. */
function isPair(value: unknown): value is PathMapping {
  const { remote, local } = (value ?? {}) as Partial<Record<keyof PathMapping, unknown>>;
  return typeof remote === "string" && typeof local === "string" && remote !== "" && local !== "";
}

export function sendMappings({ sidecar, log }: App): Disposable[] {
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
      // A sidecar that starts later gets it at its start.
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
