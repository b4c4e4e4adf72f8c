/** Opens a report in Nsight Systems, the program of NVIDIA that shows its timeline. */

import { accessSync, constants, readdirSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";

import * as vscode from "vscode";

import { EaglerayError } from "../../common/errors";
import type { Parts } from "../../parts";
import type { Action } from "../../sidecar/error_messages";
import { setting } from "../../settings";
import { newestFirst } from "./nsight_model";

const PROGRAM = "nsys-ui";
/** Below it each version that NVIDIA's package has installed has a folder. */
const INSTALLED = "/opt/nvidia/nsight-systems";

/**
 * 1. The program that the setting names.
 * 2. `nsys-ui` of the PATH.
 * 3. The newest one below `/opt/nvidia/nsight-systems`.
 * 4. None, or no screen to show it on: says so, and what to do with the file.
 */
export function openInNsight(parts: Parts, uri: vscode.Uri): void {
  const program = vscode.workspace.isTrusted ? nsightProgram() : undefined;
  if (program === undefined || !hasScreen()) {
    const why = program === undefined ? notFound() : noScreen();
    parts.errors.show(why, "opening Nsight Systems", ...instead(uri));
    return;
  }
  parts.log.info(`Nsight Systems is ${program}`);
  // A terminal nobody sees: the program has a window of its own, and its end ends the terminal.
  vscode.window.createTerminal({
    name: "Nsight Systems",
    shellPath: program,
    shellArgs: [uri.fsPath],
    hideFromUser: true,
    isTransient: true,
  });
}

/** Shows where the file lies: in the file manager, or in the editor’s own tree where that is on another machine. */
export async function revealReport(uri: vscode.Uri): Promise<void> {
  const command = vscode.env.remoteName === undefined ? "revealFileInOS" : "revealInExplorer";
  await vscode.commands.executeCommand(command, uri);
}

function nsightProgram(): string | undefined {
  const named = setting("profiling.nsightSystems").trim();
  if (named !== "") {
    if (!isProgram(named)) {
      throw badSetting(named);
    }
    return named;
  }
  return [...onPath(), ...installed()].find(isProgram);
}

function onPath(): string[] {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((one) => one !== "");
  return folders.map((folder) => join(folder, PROGRAM));
}

function installed(): string[] {
  const versions = newestFirst(namesIn(INSTALLED));
  return versions.flatMap((version) => [
    join(INSTALLED, version, "bin", PROGRAM),
    join(INSTALLED, version, "host-linux-x64", PROGRAM),
  ]);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // It is not installed in this way.
    return [];
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Over ssh and in a browser there is mostly none. */
function hasScreen(): boolean {
  const { DISPLAY, WAYLAND_DISPLAY } = process.env;
  return process.platform !== "linux" || [DISPLAY, WAYLAND_DISPLAY].some((name) => Boolean(name));
}

function instead(uri: vscode.Uri): Action[] {
  return [
    { title: "Copy Path", run: () => vscode.env.clipboard.writeText(uri.fsPath) },
    { title: "Reveal File", run: () => revealReport(uri) },
  ];
}

function badSetting(path: string): EaglerayError {
  return new EaglerayError(
    "no-nsight",
    `The setting eagleray.profiling.nsightSystems names ${path}, which is no program.`,
    "Name nsys-ui of your installation there, or leave it empty.",
  );
}

function notFound(): EaglerayError {
  return new EaglerayError(
    "no-nsight",
    "Nsight Systems was not found on the machine where this window’s files are.",
    "Copy the file to a computer that has it, or name its nsys-ui in the setting eagleray.profiling.nsightSystems.",
  );
}

function noScreen(): EaglerayError {
  return new EaglerayError(
    "no-screen",
    "The machine where this window’s files are has no screen for Nsight Systems.",
    "Copy the file to your own computer and open it there; its version must not be older than that of nsys.",
  );
}
