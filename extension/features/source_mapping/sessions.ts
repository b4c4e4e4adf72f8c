/** What the configuration of a session of ours says about its worker. */

import type * as vscode from "vscode";

import { DEBUG_TYPE } from "../../contributions";
import type { Place } from "./question";

export function placeOf(config: vscode.DebugConfiguration): Place | undefined {
  const { cluster, worker, path } = config as Record<string, unknown>;
  return config.type === DEBUG_TYPE &&
    typeof cluster === "string" &&
    typeof worker === "string" &&
    typeof path === "string"
    ? { cluster, worker, path }
    : undefined;
}

/** The local file that a session's first stop is taken for, "" when there is none. */
export function localOf(config: vscode.DebugConfiguration): string {
  const local: unknown = config["local"];
  return typeof local === "string" ? local : "";
}
