/** Reports: the page of a report that nsys wrote. */

import * as vscode from "vscode";

import type { App } from "../../app";
import type { Disposable } from "../../common/disposables";
import { EDITORS } from "../../contributions";

/** Nothing else of this feature is loaded before a report is opened. */
export function register(app: App): Disposable[] {
  const reports = new ReportEditors(app);
  return Object.values(EDITORS).map((id) =>
    vscode.window.registerCustomEditorProvider(id, reports, {
      supportsMultipleEditorsPerDocument: true,
      webviewOptions: { enableFindWidget: true },
    }),
  );
}

class ReportEditors implements vscode.CustomReadonlyEditorProvider {
  constructor(private readonly app: App) {}

  openCustomDocument(uri: vscode.Uri): vscode.CustomDocument {
    return { uri, dispose: () => undefined };
  }

  async resolveCustomEditor(
    { uri }: vscode.CustomDocument,
    panel: vscode.WebviewPanel,
  ): Promise<void> {
    const { ReportTab } = await import("./report_panel.js");
    new ReportTab(this.app, uri, panel);
  }
}
