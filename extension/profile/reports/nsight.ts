/** Opens a report outside of its page: in Nsight Systems, the file manager, or on the user's computer. */

import { accessSync, constants, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

import * as vscode from "vscode";

import type { App } from "../../app";
import { EaglerayError } from "../../common/errors";
import type { Verbatim } from "../../common/texts";
import type { Action } from "../../error_messages";
import { revealFile } from "../../page/tabs";
import { setting } from "../../settings";
import { startDetached } from "../../sidecar/processes";

/** How much of its output goes into our log. */
const LOG_TAIL_CHARS = 2000;
const DOING: Verbatim = "opening Nsight Systems";

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
    { title: vscode.l10n.t("Copy Path"), run: () => vscode.env.clipboard.writeText(uri.fsPath) },
    { title: vscode.l10n.t("Reveal File"), run: () => revealFile(uri) },
  ];
}

function badSetting(path: string): EaglerayError {
  return new EaglerayError(
    "no-nsight",
    vscode.l10n.t("{0} in the setting eagleray.profiling.nsightSystems is not a program.", path),
    vscode.l10n.t("Enter the path of nsys-ui, or leave the setting empty."),
  );
}

function missingNsight(): EaglerayError {
  return new EaglerayError(
    "no-nsight",
    vscode.l10n.t("Nsight Systems was not found on the machine with this window’s files."),
    vscode.l10n.t(
      "Copy the report to a computer with Nsight Systems, or set eagleray.profiling.nsightSystems.",
    ),
  );
}

function noScreen(): EaglerayError {
  return new EaglerayError(
    "no-screen",
    vscode.l10n.t("The machine with this window’s files has no display for Nsight Systems."),
    vscode.l10n.t(
      "Copy the report to your computer. Nsight Systems must be at least as new as nsys.",
    ),
  );
}

function untrusted(): EaglerayError {
  return new EaglerayError(
    "untrusted-workspace",
    vscode.l10n.t("Files of an untrusted workspace are not opened in other programs."),
    vscode.l10n.t("Trust the workspace, or open the file yourself."),
  );
}

function failed(program: string, how: string, output: string): EaglerayError {
  return new EaglerayError(
    "nsight-failed",
    `${program} ${how}.`,
    vscode.l10n.t("The log has its output. Reports of a newer nsys need a newer Nsight Systems."),
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
const OTHER_FOLDERS: readonly Verbatim[] = [
  "/usr/local/cuda/bin",
  "/Applications/NVIDIA Nsight Systems.app/Contents/MacOS",
];
const OTHERS = OTHER_FOLDERS.map((folder) => join(folder, PROGRAM));

/**
 * 1. The program that the setting names.
 * 2. `nsys-ui` of the PATH, without its relative folders, which depend on the working directory.
 * 3. The newest one below `/opt/nvidia/nsight-systems`.
 * 4. The one of CUDA, and the one of a Mac.
 *
 * Raises an error of the catalogue without any.
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

/** Downloads it from a remote machine; none for a file outside of the workspace. */
function downloadReport(uri: vscode.Uri): Action[] {
  const isRemote = vscode.env.remoteName !== undefined;
  return isRemote && vscode.workspace.getWorkspaceFolder(uri) !== undefined
    ? [{ title: vscode.l10n.t("Download"), run: () => download(uri) }]
    : [];
}

/** The editor downloads what is selected in its tree. */
async function download(uri: vscode.Uri): Promise<void> {
  await vscode.commands.executeCommand("revealInExplorer", uri);
  await vscode.commands.executeCommand("explorer.download");
}
