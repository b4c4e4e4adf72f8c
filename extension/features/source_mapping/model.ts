/** What the source-mapping feature decides, without the editor: folders, paths and questions. */

import * as path from "node:path";

import type { PathMapping } from "../../contributions";

/** A folder of the worker and the folder of this machine that it is. */
export interface FolderPair {
  readonly remote: string;
  readonly local: string;
}

/** Both paths without their longest common ending: `/a/b/x/y.py` and `/w/x/y.py` give `/a/b` and `/w`. */
export function pairOfFiles(remoteFile: string, localFile: string): FolderPair {
  const remote = path.posix.dirname(remoteFile).split("/");
  const local = path.dirname(localFile).split(path.sep);
  // The root stays: a mapping of "/" would take hold of every file of the worker.
  while (remote.length > 2 && local.length > 2 && remote.at(-1) === local.at(-1)) {
    remote.pop();
    local.pop();
  }
  return { remote: remote.join("/") || "/", local: local.join(path.sep) || path.sep };
}

/**
 * What the person meant by answering `folder` for the worker's file.
 *
 * 1. The longest ending of the worker's path that exists under `folder`: the rest is the remote folder.
 * 2. Else undefined: the folder does not hold that file.
 */
export function pairOfFolder(
  remoteFile: string,
  folder: string,
  exists: (file: string) => boolean,
): FolderPair | undefined {
  const parts = remoteFile.split("/").filter((part) => part !== "");
  for (let start = 0; start < parts.length; start += 1) {
    const ending = parts.slice(start);
    if (exists(path.join(folder, ...ending))) {
      return { remote: `/${parts.slice(0, start).join("/")}`, local: folder };
    }
  }
  return undefined;
}

/** The worker's path of a local file, by the first mapping whose folder it lies in, else the same path. */
export function workerPath(localFile: string, mappings: readonly FolderPair[]): string {
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

/** The setting as the sidecar takes it: `${workspaceFolder}`, `${userHome}` and `~` stand for folders. */
export function expandedMappings(
  setting: Readonly<Record<string, readonly PathMapping[]>>,
  workspaceFolder: string,
  home: string,
): Record<string, FolderPair[]> {
  const folder = (text: string): string =>
    text
      .replace(/^~(?=\/|$)/, () => home)
      .replaceAll("${workspaceFolder}", workspaceFolder)
      .replaceAll("${userHome}", home);
  return Object.fromEntries(
    Object.entries(setting).map(([cluster, pairs]) => [
      cluster,
      pairs.filter(isPair).map(({ remote, local }) => ({ remote, local: folder(local) })),
    ]),
  );
}

/** The setting is written by hand, so anything may stand in it. */
function isPair(value: unknown): value is PathMapping {
  const { remote, local } = (value ?? {}) as Partial<Record<keyof PathMapping, unknown>>;
  return typeof remote === "string" && typeof local === "string" && remote !== "" && local !== "";
}
