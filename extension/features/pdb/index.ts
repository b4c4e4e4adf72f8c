/** Ray's own pdb (`RAY_DEBUG=legacy`): opens a waiting session in a terminal. */

import { registerCommands } from "../../commands";
import type { Disposable } from "../../common/disposables";
import { COMMANDS } from "../../contributions";
import type { Parts } from "../../parts";

export function register(parts: Parts): Disposable[] {
  return registerCommands(parts, () => import("./pdb_sessions.js"), [
    [COMMANDS.openPdbSession, "opening a pdb session", (to, rows) => to.openSession(parts, rows)],
  ]);
}
