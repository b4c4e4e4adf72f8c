/** “Manage Presets…”: shows presets, adds one from a file, deletes the user's own. */

import { readFile } from "node:fs/promises";
import { basename } from "node:path";

import * as vscode from "vscode";

import type { App } from "../../app";
import { dotted, plain } from "../../common/texts";
import { windowName } from "../../workspace";
import type { Draft } from "../draft";
import {
  DELETE_PRESET,
  LIST_PRESETS,
  SAVE_PRESET,
  type PresetRow,
  type Proposal,
} from "./messages";

const SHOW: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("go-to-file"),
  tooltip: vscode.l10n.t("Show as JSON"),
};
const DELETE: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("trash"),
  tooltip: vscode.l10n.t("Delete"),
};

interface PresetAction {
  readonly preset?: PresetRow;
  readonly deletes: boolean;
}

export async function managePresets(app: App): Promise<void> {
  const workspace = windowName();
  const { presets } = await app.sidecar.request(LIST_PRESETS, { workspace });
  const chosen = await pick(presets);
  if (chosen === undefined) {
    return;
  }
  if (chosen.preset === undefined) {
    await add(app, workspace);
  } else if (chosen.deletes) {
    await remove(app, workspace, chosen.preset);
  } else {
    const { text: content } = chosen.preset;
    const document = await vscode.workspace.openTextDocument({ language: "json", content });
    await vscode.window.showTextDocument(document);
  }
}

async function remove(app: App, workspace: string, preset: PresetRow): Promise<void> {
  const { name, text } = preset;
  await app.sidecar.request(DELETE_PRESET, { workspace, name });
  const undo = vscode.l10n.t("Undo");
  const message = vscode.l10n.t("Removed preset “{0}”.", plain(name));
  if ((await vscode.window.showInformationMessage(message, undo)) === undo) {
    await app.sidecar.request(SAVE_PRESET, { workspace, name, text });
  }
}

/** Saves the answers of a form under a name that the user enters. */
export async function saveAnswers(app: App, draft: Draft, { framework }: Proposal): Promise<void> {
  const name = await vscode.window.showInputBox({
    title: vscode.l10n.t("Save as preset"),
    prompt: vscode.l10n.t("Name of the preset. “Manage Presets…” shows it as JSON to share."),
    value: framework === "" ? "" : `my ${framework}`,
    ignoreFocusOut: true,
    validateInput: (text) => (text.trim() === "" ? vscode.l10n.t("Enter a name.") : undefined),
  });
  if (name !== undefined) {
    const preset = { format: 1, name, framework, answers: draft.answers, words: [], env: {} };
    const text = JSON.stringify(preset, undefined, 2);
    await app.sidecar.request(SAVE_PRESET, { workspace: windowName(), name, text });
  }
}

/** The name is the file's, so that two presets of one name replace one another. */
async function add(app: App, workspace: string): Promise<void> {
  const [file] =
    (await vscode.window.showOpenDialog({
      title: vscode.l10n.t("Select a preset file"),
      openLabel: vscode.l10n.t("Add Preset"),
      filters: { JSON: ["json"] },
    })) ?? [];
  if (file !== undefined) {
    const text = await readFile(file.fsPath, "utf8");
    const name = basename(file.fsPath).replace(/\.json$/, "");
    await app.sidecar.request(SAVE_PRESET, { workspace, name, text });
    void vscode.window.showInformationMessage(
      vscode.l10n.t("Added preset “{0}” to this workspace.", plain(name)),
    );
  }
}

function pick(presets: readonly PresetRow[]): Promise<PresetAction | undefined> {
  const list = vscode.window.createQuickPick<vscode.QuickPickItem & { preset?: PresetRow }>();
  list.title = vscode.l10n.t("Presets");
  list.placeholder = vscode.l10n.t("Select a preset to show its JSON");
  list.items = [
    { label: vscode.l10n.t("Add from a JSON file…"), iconPath: new vscode.ThemeIcon("add") },
    ...presets.map((preset) => ({
      ...presetLabels(preset),
      detail: plain(preset.name),
      buttons: preset.own ? [SHOW, DELETE] : [SHOW],
      preset,
    })),
  ];
  return new Promise((resolve) => {
    const done = (chosen: PresetAction | undefined): void => {
      resolve(chosen);
      list.dispose();
    };
    list.onDidAccept(() => {
      const [active] = list.activeItems;
      done(active && { ...(active.preset && { preset: active.preset }), deletes: false });
    });
    list.onDidTriggerItemButton(({ item, button }) => {
      done({ ...(item.preset && { preset: item.preset }), deletes: button === DELETE });
    });
    list.onDidHide(() => {
      done(undefined);
    });
    list.show();
  });
}

/** How a preset is offered. */
function presetLabels(preset: PresetRow): { label: string; description: string } {
  const own = preset.own ? vscode.l10n.t("yours") : "";
  return { label: plain(preset.title), description: dotted(plain(preset.framework), own) };
}
