/** Where the worker of a debug session is stopped, and which local file that is. */

import type * as vscode from "vscode";

import { DEBUG_TYPE } from "../../contributions";

/** Where a worker is stopped, from the configuration of its session. */
export interface StopPlace {
  readonly cluster: string;
  readonly worker: string;
  readonly path: string;
}

export function stopPlaceOf(config: vscode.DebugConfiguration): StopPlace | undefined {
  const { cluster, worker, path } = config as Record<string, unknown>;
  return config.type === DEBUG_TYPE &&
    typeof cluster === "string" &&
    typeof worker === "string" &&
    typeof path === "string"
    ? { cluster, worker, path }
    : undefined;
}

/** The local file of a session's first stop; "" without one. */
export function localOf(config: vscode.DebugConfiguration): string {
  const local: unknown = config["local"];
  return typeof local === "string" ? local : "";
}
