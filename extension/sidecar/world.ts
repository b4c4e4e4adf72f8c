/** The real world of the connection: finds a Python, starts the process, keeps time. */

import * as vscode from "vscode";

import { noPython, unsupportedPlatform } from "../common/errors";
import { setting } from "../settings";
import type { Channel, ChannelListener, World } from "./connection";
import { findPython, type FoundPython } from "./interpreter";
import { sidecarLaunch } from "./launch";
import { bundledLibraries, surroundings } from "./surroundings";

/** `found` hears which Python was taken, before the process starts. */
export function realWorld(
  extensionFolder: string,
  log: vscode.LogOutputChannel,
  found: (python: FoundPython) => void,
): World {
  const line = (text: string): void => {
    log.info(`sidecar: ${text}`);
  };
  return {
    open: (methods, listener) => open(extensionFolder, methods, listener, line, found),
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

async function open(
  extensionFolder: string,
  methods: readonly string[],
  listener: ChannelListener,
  log: (line: string) => void,
  found: (python: FoundPython) => void,
): Promise<Channel> {
  if (process.platform === "win32") {
    throw unsupportedPlatform();
  }
  const libraries = await bundledLibraries(extensionFolder);
  const lines: string[] = [];
  const around = await surroundings(extensionFolder, libraries, (text) => {
    lines.push(text);
    log(text);
  });
  const python = await findPython(around);
  if (python === undefined) {
    throw noPython(lines.join("\n"));
  }
  found(python);
  const launch = sidecarLaunch(extensionFolder, libraries, python.python, python.tag);
  // Loaded here, and not above, so that an idle extension does not pay for it.
  const { openChannel } = await import("./process.js");
  return openChannel(launch, initializationOptions(), methods, listener, log);
}

/** What the sidecar is told once; a change of these settings starts it anew. */
function initializationOptions(): object {
  return {
    discovery: setting("discovery"),
    slurm: setting("slurm"),
    ssh: {
      path: setting("ssh.path"),
      reuseControlMaster: setting("ssh.reuseControlMaster"),
    },
  };
}
