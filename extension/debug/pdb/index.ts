/** Ray's own pdb (`RAY_DEBUG=legacy`): opens a waiting session in a terminal. */

import type { App } from "../../app";
import { registerCommands } from "../../commands";
import type { Disposable } from "../../common/disposables";
import { COMMANDS } from "../../contributions";

export function register(app: App): Disposable[] {
  return registerCommands(app, () => import("./pdb_sessions.js"), [
    [COMMANDS.openPdbSession, "opening a pdb session", (to, rows) => to.openSession(app, rows)],
  ]);
}
