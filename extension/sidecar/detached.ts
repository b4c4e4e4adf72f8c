/** Programs with a window of their own, which outlive ours. */

import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";

/**
 * Starts one without a shell; what it says goes into the file `log`.  `failed` hears why it could not be started, or how
 * it ended when it did not end well.
 */
export function startDetached(
  program: string,
  args: readonly string[],
  log: string,
  failed: (how: string) => void,
): void {
  const said = openSync(log, "w", 0o600);
  try {
    const child = spawn(program, args, { detached: true, stdio: ["ignore", said, said] });
    child.once("error", ({ message }) => {
      failed(`could not be started: ${message}`);
    });
    child.once("exit", (code, signal) => {
      if (code !== 0) {
        failed(`ended with ${signal ?? String(code)}`);
      }
    });
    child.unref();
  } finally {
    closeSync(said);
  }
}
