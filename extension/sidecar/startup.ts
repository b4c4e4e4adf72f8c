/** Finds a Python on this machine and starts the sidecar with it; read at the first use of the sidecar. */

import * as vscode from "vscode";

import { noPython } from "../common/errors";
import { setting } from "../settings";
import { openChannel } from "./channel";
import { findPython, type SidecarPython } from "./interpreter";
import { sidecarEnvironment, sidecarLaunch } from "./launch";
import { bundledLibraries, pythonSearchInput } from "./python_probe";
import type { Channel, ChannelListener } from "./sidecar";

/** `chosen` is called with the Python before the process starts; `ending` cancels the start. */
export async function openSidecar(
  extensionFolder: string,
  methods: readonly string[],
  listener: ChannelListener,
  log: (line: string) => void,
  chosen: (python: SidecarPython) => void,
  ending: AbortSignal,
): Promise<Channel> {
  const libraries = await bundledLibraries(extensionFolder);
  const lines: string[] = [];
  const write = (text: string): void => {
    lines.push(text);
    log(text);
  };
  const around = await pythonSearchInput(extensionFolder, libraries, write, ending);
  const python = await findPython(around);
  ending.throwIfAborted();
  if (python === undefined) {
    throw noPython(lines.join("\n"));
  }
  chosen(python);
  const launch = {
    ...sidecarLaunch(extensionFolder, libraries, python.python, python.tag),
    env: sidecarEnvironment(setting("profiling.nsys")),
  };
  return openChannel(launch, initializeParams(), methods, listener, log, ending);
}

/** Params of LSP's `initialize`. */
function initializeParams(): object {
  return {
    processId: process.pid,
    rootUri: null,
    capabilities: { window: { workDoneProgress: true } },
    locale: vscode.env.language,
    initializationOptions: initializationOptions(),
  };
}

/** Sent once at the start; a change of these settings restarts the sidecar. */
function initializationOptions(): object {
  return {
    discovery: setting("discovery"),
    slurm: setting("slurm"),
    trusted: vscode.workspace.isTrusted,
    ssh: {
      path: setting("ssh.path"),
      reuseControlMaster: setting("ssh.reuseControlMaster"),
    },
  };
}
