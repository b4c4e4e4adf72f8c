/** Opens a report in Nsight Systems, the program of NVIDIA that shows its timeline. */

import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import * as vscode from "vscode";

import type { EaglerayError } from "../../common/errors";
import type { Action } from "../../error_messages";
import type { Parts } from "../../parts";
import { setting } from "../../settings";
import { startDetached } from "../../sidecar/detached";
import { downloadReport, revealReport } from "./files";
import { failed, noScreen, untrusted } from "./nsight_errors";
import { nsightProgram } from "./nsight_program";

/** So much of what it has said goes into our log. */
const MOST_SAID = 2000;
const DOING = "opening Nsight Systems";

/** On the machine where the window’s files are; what stands in the way is said, with what to do instead. */
export function openInNsight(parts: Parts, uri: vscode.Uri): void {
  const show = (error: unknown): void => {
    parts.errors.show(error, DOING, ...instead(uri));
  };
  try {
    start(parts, uri, show);
  } catch (error) {
    show(error);
  }
}

function start(parts: Parts, uri: vscode.Uri, show: (error: EaglerayError) => void): void {
  if (!vscode.workspace.isTrusted) {
    throw untrusted();
  }
  const program = nsightProgram(setting("profiling.nsightSystems").trim());
  if (!hasScreen()) {
    throw noScreen();
  }
  parts.log.info(`Nsight Systems is ${program}`);
  const folder = parts.context.logUri.fsPath;
  mkdirSync(folder, { recursive: true });
  const log = join(folder, "nsight-systems.log");
  startDetached(program, [uri.fsPath], log, (how) => {
    show(failed(program, how, readFileSync(log, "utf8").slice(-MOST_SAID)));
  });
}

/** Over ssh and in a browser there is mostly none. */
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
