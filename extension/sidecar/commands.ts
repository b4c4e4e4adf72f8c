/** The commands of the extension itself: logs, restart, Python, panel, and `eagleray` in terminals. */

import * as path from "node:path";

import * as vscode from "vscode";
import type { ExtensionContext } from "vscode";

import { registerCommands } from "../commands";
import type { Disposable } from "../common/disposables";
import { COMMANDS, VIEWS } from "../contributions";
import type { App } from "../app";
import { changeSetting, onSettingChanged } from "../settings";
import type { SidecarPython } from "./interpreter";

/** Settings that the sidecar, or the search for its Python, takes up when it starts. */
const RESTARTING_SETTINGS = ["python", "discovery", "slurm", "ssh", "profiling.nsys"] as const;

export function sidecarCommands(app: App): Disposable[] {
  return [
    ...registerCommands(app, () => Promise.resolve(app), [
      [
        COMMANDS.showLog,
        "showing the log",
        ({ log }) => {
          log.show();
        },
      ],
      [COMMANDS.restart, "restarting", ({ sidecar }) => sidecar.restart()],
      [COMMANDS.selectPython, "selecting a Python", selectPython],
      [
        COMMANDS.showPanel,
        "showing the paused workers",
        // The editor's own command of each view also gives it the focus.
        () => vscode.commands.executeCommand(`${VIEWS.paused}.focus`),
      ],
    ]),
    ...RESTARTING_SETTINGS.map((name) =>
      onSettingChanged(name, () => {
        // A sidecar that isn't running reads them when it starts.
        if (app.sidecar.state.value !== "idle") {
          void app.sidecar.restart();
        }
      }),
    ),
    // A program that couldn't be executed before may be the one that was missing.
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      if (app.sidecar.state.value === "no-python") {
        void app.sidecar.restart();
      }
    }),
    app.sidecar.state.onChanged((state) => {
      // A visible view says the same, with the same button.
      if (state === "no-python" && !app.panel.visible.value) {
        void offerSelection(app);
      }
    }),
  ];
}

/** The restart that makes use of the answer comes by the change of the setting. */
async function selectPython(): Promise<void> {
  const chosen = await vscode.window.showOpenDialog({
    title: vscode.l10n.t("Select a Python 3.10–3.14 for Eagleray"),
    openLabel: vscode.l10n.t("Use This Python"),
    canSelectMany: false,
  });
  const file = chosen?.[0]?.fsPath;
  if (file !== undefined) {
    await changeSetting("python", file);
  }
}

async function offerSelection(app: App): Promise<void> {
  const select = vscode.l10n.t("Select Python…");
  const logs = vscode.l10n.t("Show Log");
  const answer = await vscode.window.showErrorMessage(
    vscode.l10n.t(
      "Eagleray needs Python 3.10–3.14. None was found. The log lists the Pythons that were tried.",
    ),
    select,
    logs,
  );
  if (answer === select) {
    await selectPython();
  } else if (answer === logs) {
    app.log.show();
  }
}

/** The variable that bin/eagleray reads. */
const PYTHON_VARIABLE = "EAGLERAY_PYTHON";

export function prepareTerminals(context: ExtensionContext): void {
  const variables = context.environmentVariableCollection;
  variables.description = vscode.l10n.t("The eagleray command");
  // Terminals that open before the sidecar has started get what was right the last time.
  variables.persistent = true;
  variables.prepend("PATH", context.asAbsolutePath("bin") + path.delimiter);
}

export function setTerminalPython(context: ExtensionContext, { python }: SidecarPython): void {
  context.environmentVariableCollection.replace(PYTHON_VARIABLE, python);
}
