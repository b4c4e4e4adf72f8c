/** The real world of the connection: the sidecar's process, and time. */

import type { LogOutputChannel } from "vscode";

import { unsupportedPlatform } from "../common/errors";
import type { World } from "./connection";
import type { FoundPython } from "./interpreter";

/** `found` hears which Python was taken, before the process starts. */
export function realWorld(
  extensionFolder: string,
  log: LogOutputChannel,
  found: (python: FoundPython) => void,
): World {
  const line = (text: string): void => {
    log.info(`sidecar: ${text}`);
  };
  return {
    open: async (methods, listener, ending) => {
      if (process.platform === "win32") {
        throw unsupportedPlatform();
      }
      // Loaded here, and not above, so that an idle extension does not pay for it.
      const { openSidecar } = await import("./opening.js");
      return openSidecar(extensionFolder, methods, listener, line, found, ending);
    },
    after: (ms, run) => {
      const timer = setTimeout(run, ms);
      return {
        dispose: () => {
          clearTimeout(timer);
        },
      };
    },
    now: () => Date.now(),
    log: line,
  };
}
