/** Opens the samples that come with the extension, as copies that the user may change. */

import * as vscode from "vscode";

import { COMMANDS, EDITORS } from "../contributions";
import { breakpointLine, DRIVER, WORKER } from "./sample_model";

const PROJECT = "rl_training";
const REPORT = "policy-0.sqlite";

export class Samples {
  constructor(
    private readonly context: Pick<
      vscode.ExtensionContext,
      "extension" | "extensionUri" | "globalStorageUri"
    >,
  ) {}

  /**
   * Opens the driver, with the file of its workers and a breakpoint in it beside, in this window: a folder would need a
   * reload and a question of trust.  With the argument "debug" it is started at once, else a message offers that;
   * resolves without waiting for its answer.
   */
  async openProject(args: readonly unknown[]): Promise<void> {
    const folder = await this.copyOf(PROJECT);
    const driver = vscode.Uri.joinPath(folder, DRIVER);
    const worker = vscode.Uri.joinPath(folder, WORKER);
    await vscode.window.showTextDocument(driver, { preview: false });
    const text = (await vscode.workspace.openTextDocument(worker)).getText();
    const at = new vscode.Range(breakpointLine(text), 0, breakpointLine(text), 0);
    addBreakpoint(worker, at);
    // The driver keeps the focus, since “Debug on Ray” starts the program in the editor.
    const beside = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: false };
    await vscode.window.showTextDocument(worker, { ...beside, selection: at });
    if (args[0] === "debug") {
      await vscode.commands.executeCommand(COMMANDS.debug, driver);
    } else {
      void this.offerStart(driver);
    }
  }

  async openReport(): Promise<void> {
    const file = await this.copyOf(REPORT);
    await vscode.commands.executeCommand("vscode.openWith", file, EDITORS.database);
  }

  private async offerStart(driver: vscode.Uri): Promise<void> {
    const start = vscode.l10n.t("Debug on Ray");
    const text = vscode.l10n.t("The sample is ready, with a breakpoint in {0}.", WORKER);
    if ((await vscode.window.showInformationMessage(text, start)) === start) {
      await vscode.commands.executeCommand(COMMANDS.debug, driver);
    }
  }

  /** One copy for each version of the extension, whole or absent; the user's changes to it stay. */
  private async copyOf(name: string): Promise<vscode.Uri> {
    const { extension, extensionUri, globalStorageUri } = this.context;
    const { version } = extension.packageJSON as { version: string };
    const copy = vscode.Uri.joinPath(globalStorageUri, "samples", version, name);
    if (!(await exists(copy))) {
      const source = vscode.Uri.joinPath(extensionUri, "samples", name);
      const part = vscode.Uri.joinPath(copy, "..", `${name}.part`);
      await vscode.workspace.fs.copy(source, part, { overwrite: true });
      await vscode.workspace.fs.rename(part, copy);
    }
    return copy;
  }
}

/** Leaves the breakpoints of a file alone that has some. */
function addBreakpoint(file: vscode.Uri, at: vscode.Range): void {
  const has = vscode.debug.breakpoints.some(
    (breakpoint) =>
      breakpoint instanceof vscode.SourceBreakpoint &&
      breakpoint.location.uri.toString() === file.toString(),
  );
  if (!has) {
    vscode.debug.addBreakpoints([new vscode.SourceBreakpoint(new vscode.Location(file, at))]);
  }
}

async function exists(file: vscode.Uri): Promise<boolean> {
  return await vscode.workspace.fs.stat(file).then(
    () => true,
    () => false,
  );
}
