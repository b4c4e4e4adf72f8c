/** Opens a report outside of its page: in Nsight Systems, the file manager, or on the user's computer. */

import { accessSync, constants, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

import * as vscode from "vscode";

import type { App } from "../../app";
import { EaglerayError } from "../../common/errors";
import type { Action } from "../../error_messages";
import { setting } from "../../settings";
import { startDetached } from "../../sidecar/processes";

/** How much of its output goes into our log. */
const LOG_TAIL_CHARS = 2000;
const DOING = "opening Nsight Systems";

/** Runs on the machine where the window’s files are; an error offers other ways to open the report. */
export function openInNsight(app: App, uri: vscode.Uri): void {
  const show = (error: unknown): void => {
    app.errors.show(error, DOING, ...instead(uri));
  };
  try {
    start(app, uri, show);
  } catch (error) {
    show(error);
  }
}

function start(app: App, uri: vscode.Uri, show: (error: EaglerayError) => void): void {
  if (!vscode.workspace.isTrusted) {
    throw untrusted();
  }
  const program = nsightProgram(setting("profiling.nsightSystems").trim());
  if (!hasScreen()) {
    throw noScreen();
  }
  app.log.info(`Nsight Systems is ${program}`);
  const folder = app.context.logUri.fsPath;
  mkdirSync(folder, { recursive: true });
  const log = join(folder, "nsight-systems.log");
  startDetached(program, [uri.fsPath], log, (how) => {
    show(failed(program, how, readFileSync(log, "utf8").slice(-LOG_TAIL_CHARS)));
  });
}

/** Over ssh and in a browser there is usually none. */
function hasScreen(): boolean {
  const { DISPLAY, WAYLAND_DISPLAY } = process.env;
  return process.platform !== "linux" || [DISPLAY, WAYLAND_DISPLAY].some((name) => Boolean(name));
}

function instead(uri: vscode.Uri): Action[] {
  return [
    ...downloadReport(uri),
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

function missingNsight(): EaglerayError {
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

function untrusted(): EaglerayError {
  return new EaglerayError(
    "untrusted-workspace",
    "Nothing of a workspace that is not trusted is opened in other programs.",
    "Trust the workspace, or open the file by hand.",
  );
}

function failed(program: string, how: string, output: string): EaglerayError {
  return new EaglerayError(
    "nsight-failed",
    `${program} ${how}.`,
    "The log has what it said; a report of a newer nsys needs a newer Nsight Systems.",
    output,
  );
}

/** Folders such as "2024.5.1" and "2025.1"; what does not begin with a number comes last. */
export function newestFirst(names: readonly string[]): string[] {
  return [...names].sort((left, right) => compared(numbersOf(right), numbersOf(left)));
}

function numbersOf(name: string): number[] {
  return (/^\d+(\.\d+)*/u.exec(name)?.[0] ?? "")
    .split(".")
    .filter((part) => part !== "")
    .map(Number);
}

function compared(left: readonly number[], right: readonly number[]): number {
  const length = Math.max(left.length, right.length);
  for (let at = 0; at < length; at += 1) {
    const difference = (left[at] ?? -1) - (right[at] ?? -1);
    if (difference !== 0) {
      return difference;
    }
  }
  return 0;
}

const PROGRAM = "nsys-ui";
/** Below it each version that NVIDIA’s package has installed has a folder. */
const INSTALLED = "/opt/nvidia/nsight-systems";
/** The folder of the program within a version, by processor. */
const PARTS = ["bin", "host-linux-x64", "host-linux-armv8"];
const OTHERS = [
  "/usr/local/cuda/bin",
  "/Applications/NVIDIA Nsight Systems.app/Contents/MacOS",
].map((folder) => join(folder, PROGRAM));

/**
 * 1. The program that the setting names.
 * 2. `nsys-ui` of the PATH, without its relative folders, which depend on the working directory.
 * 3. The newest one below `/opt/nvidia/nsight-systems`.
 * 4. That of CUDA, and the one of a Mac.
 *
 * Raises an error of the catalogue where there is none.
 */
function nsightProgram(named: string): string {
  if (named !== "") {
    if (!isAbsolute(named) || !isProgram(named)) {
      throw badSetting(named);
    }
    return named;
  }
  const program = [...onPath(), ...installed(), ...OTHERS].find(isProgram);
  if (program === undefined) {
    throw missingNsight();
  }
  return program;
}

function onPath(): string[] {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter(isAbsolute);
  return folders.map((folder) => join(folder, PROGRAM));
}

function installed(): string[] {
  return newestFirst(namesIn(INSTALLED)).flatMap((version) =>
    PARTS.map((part) => join(INSTALLED, version, part, PROGRAM)),
  );
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // It isn't installed there.
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

/** Shows where the file lies: in the file manager, or in the editor’s own tree where that is on another machine. */
export async function revealReport(uri: vscode.Uri): Promise<void> {
  const command = vscode.env.remoteName === undefined ? "revealFileInOS" : "revealInExplorer";
  await vscode.commands.executeCommand(command, uri);
}

/** Downloads it from a remote machine; none for a file outside of the workspace. */
function downloadReport(uri: vscode.Uri): Action[] {
  const isRemote = vscode.env.remoteName !== undefined;
  return isRemote && vscode.workspace.getWorkspaceFolder(uri) !== undefined
    ? [{ title: "Download", run: () => download(uri) }]
    : [];
}

/** The editor downloads what is selected in its tree. */
async function download(uri: vscode.Uri): Promise<void> {
  await vscode.commands.executeCommand("revealInExplorer", uri);
  await vscode.commands.executeCommand("explorer.download");
}
