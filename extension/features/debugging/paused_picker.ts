/** The list of paused workers behind the status bar; read when it is first opened. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { dotted, plain } from "../../common/texts";
import { COMMANDS } from "../../contributions";
import type { PausedGroup, PausedWorker, Snapshot } from "../workers/messages";
import { shortPlace, workerName } from "../workers/names";
import type { WorkerRow } from "../workers/rows";
import type { DebugCommands } from "./commands";

interface WorkerItem extends vscode.QuickPickItem {
  readonly row: WorkerRow;
}

type Item = WorkerItem | vscode.QuickPickItem;

const ICONS: Readonly<Record<PausedWorker["state"], string>> = {
  paused: "debug-pause",
  held: "lock",
  debugging: "debug-alt",
  running: "debug-continue",
  gone: "debug-disconnect",
};

const CONTINUE: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("debug-continue"),
  tooltip: vscode.l10n.t("Continue"),
};
const GO_TO_LINE: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("go-to-file"),
  tooltip: vscode.l10n.t("Go to Line"),
};

/** Enter attaches to a worker; its buttons continue it or open its line.  Without any the view is shown. */
export async function showPausedWorkers(app: App, commands: DebugCommands): Promise<void> {
  const items = pausedItems(app.paused.value);
  if (items.length === 0) {
    await vscode.commands.executeCommand(COMMANDS.showPanel);
    return;
  }
  const picker = vscode.window.createQuickPick<Item>();
  picker.title = vscode.l10n.t("Paused Workers");
  picker.placeholder = vscode.l10n.t("Select a worker to attach to");
  picker.matchOnDescription = true;
  picker.matchOnDetail = true;
  picker.items = items;
  const closed = new Promise<void>((resolve) => {
    picker.onDidHide(() => {
      resolve();
    });
  });
  picker.onDidTriggerItemButton(({ item, button }) => {
    if (isWorker(item)) {
      const command = button === CONTINUE ? COMMANDS.continue : COMMANDS.goToLine;
      picker.hide();
      void vscode.commands.executeCommand(command, item.row);
    }
  });
  picker.onDidAccept(() => {
    const [item] = picker.selectedItems;
    picker.hide();
    if (item !== undefined && isWorker(item)) {
      void commands.attach([item.row], [item.row]);
    }
  });
  // The list stays true while it is open.
  const following = app.paused.onChanged((snapshot) => {
    picker.items = pausedItems(snapshot);
  });
  picker.show();
  await closed;
  following.dispose();
  picker.dispose();
}

/** The workers below the titles of their groups, in the order of the view. */
export function pausedItems({ groups }: Snapshot): Item[] {
  return groups.flatMap((group): Item[] => [
    { kind: vscode.QuickPickItemKind.Separator, label: plain(group.title) },
    ...group.workers.filter(({ state }) => state !== "gone").map((worker) => itemOf(worker, group)),
  ]);
}

function itemOf(worker: PausedWorker, group: PausedGroup): WorkerItem {
  const { location, state } = worker;
  const place = location === null ? "" : shortPlace(location.path, location.line);
  const stateTexts = {
    held: vscode.l10n.t("held"),
    debugging: vscode.l10n.t("debugging"),
    paused: "",
    running: "",
    gone: "",
  };
  return {
    label: `$(${ICONS[state]}) ${plain(workerName(worker))}`,
    description: plain(dotted(place, stateTexts[state])),
    ...(worker.exception === "" ? {} : { detail: plain(worker.exception) }),
    buttons: location === null ? [CONTINUE] : [GO_TO_LINE, CONTINUE],
    row: { row: "worker", worker, group: { row: "group", ...group } },
  };
}

function isWorker(item: Item): item is WorkerItem {
  return "row" in item;
}
