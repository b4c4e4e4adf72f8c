/** Opens a report in Nsight Systems, the program of NVIDIA that shows its timeline. */

import * as vscode from "vscode";

import type { EaglerayError } from "../../common/errors";
import type { Disposable } from "../../common/disposables";
import type { Parts } from "../../parts";
import { setting } from "../../settings";
import type { Action } from "../../sidecar/error_messages";
import { downloadReport, revealReport } from "./files";
import { ended, noScreen, untrusted } from "./nsight_errors";
import { nsightProgram } from "./nsight_program";

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
  // A terminal nobody sees: the program has a window of its own, and its end ends the terminal.
  const terminal = vscode.window.createTerminal({
    name: "Nsight Systems",
    shellPath: program,
    shellArgs: [uri.fsPath],
    hideFromUser: true,
    isTransient: true,
  });
  const closing: Disposable = vscode.window.onDidCloseTerminal((closed) => {
    if (closed !== terminal) {
      return;
    }
    closing.dispose();
    const code = closed.exitStatus?.code ?? 0;
    if (code !== 0) {
      show(ended(program, code));
    }
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
