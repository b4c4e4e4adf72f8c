/** “Compare Engines…”; read when it is first called. */

import * as vscode from "vscode";

import type { App } from "../app";
import { plain } from "../common/texts";
import { longWork } from "../dialogs";
import { workspaceFolder } from "../workspace";
import { programPython } from "../runs/interpreters";
import { askForPath } from "../typed_paths";
import { chosenSide } from "./engine_choice";
import { ComparisonPanels } from "./comparison_panel";
import { COMPARE, type ComparisonRequest, type ShownComparison } from "./messages";

const LAST_DATA = "eagleray.comparedData";

export class ComparisonCommands {
  private readonly panels: ComparisonPanels;

  constructor(private readonly app: App) {
    this.panels = new ComparisonPanels(app, (request) =>
      app.errors.shown("comparing engines", () => this.compared(request)),
    );
  }

  /** The user chooses A and B, and the prompts where neither is a dump. */
  async compare(): Promise<void> {
    const a = await chosenSide(
      this.app,
      vscode.l10n.t("Compare Engines (1/2): engine of the rollouts"),
    );
    if (a === undefined) {
      return;
    }
    const b = await chosenSide(this.app, vscode.l10n.t("Compare Engines (2/2): trainer"));
    if (b === undefined) {
      return;
    }
    const data = a.isDump || b.isDump ? "" : await this.chosenData();
    if (data === undefined) {
      return;
    }
    const python = (await programPython(this.app, { path: "", cwd: workspaceFolder() })).path;
    const request = { a: a.written, b: b.written, data, python };
    this.panels.show({ request, comparison: await this.compared(request) });
  }

  revive(panel: vscode.WebviewPanel, state: unknown): void {
    this.panels.revive(panel, state);
  }

  private async compared(request: ComparisonRequest): Promise<ShownComparison> {
    const title = vscode.l10n.t(
      "Comparing {0} and {1}",
      plain(request.a, 60),
      plain(request.b, 60),
    );
    return await longWork(title, (options) => this.app.sidecar.request(COMPARE, request, options));
  }

  private async chosenData(): Promise<string | undefined> {
    const last = this.app.context.workspaceState.get<string>(LAST_DATA);
    const file = await askForPath({
      title: vscode.l10n.t("Select the Prompts"),
      openLabel: vscode.l10n.t("Compare"),
      kind: "file",
      listed: "**/*.{jsonl,ndjson}",
      filters: { [vscode.l10n.t("JSON lines")]: ["jsonl", "ndjson", "json"] },
      ...(last !== undefined && { start: last }),
    });
    if (file !== undefined) {
      await this.app.context.workspaceState.update(LAST_DATA, file);
    }
    return file;
  }
}
