/** The list of paused workers behind the status bar; read when it is first opened. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { dotted, plain } from "../../common/texts";
import { COMMANDS, type CommandId } from "../../contributions";
import type { PausedGroup, PausedWorker, Snapshot } from "../workers/messages";
import { shortPlace, STATE_ICONS, workerName } from "../workers/names";
import type { WorkerRow } from "../workers/rows";
import type { DebugCommands } from "./commands";
import { runningOf, type DebuggedWorker } from "./model";
import type { DebugSessions } from "./sessions";

interface WorkerItem extends vscode.QuickPickItem {
  readonly row: WorkerRow;
}

/** Workers with a session that run; accepted, its only worker comes to the front, or all are detached from. */
interface RunningItem extends vscode.QuickPickItem {
  readonly running: readonly DebuggedWorker[];
}

/** Runs a command about all of them. */
interface CommandItem extends vscode.QuickPickItem {
  readonly command: CommandId;
}

/** A row of an open list whose worker isn't in it any more: accepted, it does nothing. */
interface FormerItem extends vscode.QuickPickItem {
  readonly key: string;
}

type Item = WorkerItem | RunningItem | CommandItem | FormerItem | vscode.QuickPickItem;

const CONTINUE: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("debug-continue"),
  tooltip: vscode.l10n.t("Continue"),
};
const GO_TO_LINE: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("go-to-file"),
  tooltip: vscode.l10n.t("Go to Line"),
};

const DETACH: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("debug-disconnect"),
  tooltip: vscode.l10n.t("Detach"),
};

/** Others may wait for workers that are paused. */
const WHY_STUCK: readonly Item[] = [
  { kind: vscode.QuickPickItemKind.Separator, label: "" },
  { label: vscode.l10n.t("$(question) Why Is It Stuck?"), command: COMMANDS.whyStuck },
];

/**
 * Enter attaches to a paused worker; its buttons continue it or open its line.  Below them are the workers that run
 * with a session, and “Why Is It Stuck?”.  Without any worker the view is shown.
 */
export async function showPausedWorkers(
  app: App,
  sessions: DebugSessions,
  commands: DebugCommands,
): Promise<void> {
  const itemsOf = (snapshot: Snapshot): Item[] => [
    ...pausedItems(snapshot),
    ...runningItems(runningOf(sessions.workers, snapshot)),
    ...WHY_STUCK,
  ];
  const items = itemsOf(app.paused.value);
  if (items.length === WHY_STUCK.length) {
    await vscode.commands.executeCommand(COMMANDS.showPanel);
    return;
  }
  const picker = vscode.window.createQuickPick<Item>();
  picker.title = vscode.l10n.t("Paused Workers");
  picker.placeholder = vscode.l10n.t("Select a worker to attach to");
  picker.matchOnDescription = true;
  picker.matchOnDetail = true;
  picker.items = items;
  picker.keepScrollPosition = true;
  const closed = new Promise<void>((resolve) => {
    picker.onDidHide(() => {
      resolve();
    });
  });
  picker.onDidTriggerItemButton(({ item, button }) => {
    picker.hide();
    if (isWorker(item)) {
      const command = button === CONTINUE ? COMMANDS.continue : COMMANDS.goToLine;
      void vscode.commands.executeCommand(command, item.row);
    } else if (isRunning(item)) {
      void app.errors.shown("detaching", () => commands.detach(item.running));
    }
  });
  picker.onDidAccept(() => {
    const [item] = picker.selectedItems;
    picker.hide();
    if (item !== undefined) {
      void app.errors.shown("a paused worker", () => accept(item, sessions, commands));
    }
  });
  // The list stays true while it is open.
  const following = app.paused.onChanged((snapshot) => {
    const active = picker.activeItems.map(keyOf);
    picker.items = updatedItems(picker.items, itemsOf(snapshot));
    // VS Code would activate the first row, so that Enter would attach to another worker (microsoft/vscode#75005).
    picker.activeItems = picker.items.filter((item) => active.includes(keyOf(item)));
  });
  picker.show();
  await closed;
  following.dispose();
  picker.dispose();
}

async function accept(item: Item, sessions: DebugSessions, commands: DebugCommands): Promise<void> {
  if (isWorker(item)) {
    await commands.attach([item.row], [item.row]);
  } else if (isRunning(item)) {
    const [only, ...more] = item.running;
    await (only !== undefined && more.length === 0
      ? sessions.show(only)
      : commands.detach(item.running));
  } else if (isCommand(item)) {
    await vscode.commands.executeCommand(item.command);
  }
}

/** The identity of an item while the list changes. */
export function keyOf(item: Item): string {
  if (isFormer(item)) {
    return item.key;
  }
  if (isWorker(item)) {
    return `${item.row.worker.cluster} ${item.row.worker.worker_id}`;
  }
  const isAllRunning = isRunning(item) && item.running.length > 1;
  return isAllRunning ? "allRunning" : `${item.kind ?? 0} ${item.label}`;
}

/**
 * The new items in an open list: each old one keeps its place, and new ones come last.  VS Code reports an accepted
 * item by its index (1.139.1, `extHostQuickOpen.ts`), so that a list in another order would run the command of another
 * row.
 */
export function updatedItems(shown: readonly Item[], current: readonly Item[]): Item[] {
  const byKey = new Map(current.map((item) => [keyOf(item), item]));
  const shownKeys = new Set(shown.map(keyOf));
  return [
    ...shown.map((item) => byKey.get(keyOf(item)) ?? formerItem(item)),
    ...current.filter((item) => !shownKeys.has(keyOf(item))),
  ];
}

function formerItem(item: Item): Item {
  if (item.kind === vscode.QuickPickItemKind.Separator || isFormer(item)) {
    return item;
  }
  const description = isRunning(item)
    ? vscode.l10n.t("no longer running")
    : vscode.l10n.t("no longer paused");
  return { label: item.label, description, key: keyOf(item) };
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
    label: `$(${STATE_ICONS[state].icon}) ${plain(workerName(worker))}`,
    description: plain(dotted(place, stateTexts[state])),
    ...(worker.exception === "" ? {} : { detail: plain(worker.exception) }),
    buttons: location === null ? [CONTINUE] : [GO_TO_LINE, CONTINUE],
    row: { row: "worker", worker, group: { row: "group", ...group } },
  };
}

/** The session of a worker that runs is needed for its next breakpoint; an entry of its own detaches from several. */
export function runningItems(running: readonly DebuggedWorker[]): Item[] {
  if (running.length === 0) {
    return [];
  }
  const title = vscode.l10n.t("Running, with a debug session");
  const all: RunningItem = {
    label: vscode.l10n.t("$(debug-disconnect) Detach from {0} Running Workers", running.length),
    running,
  };
  return [
    { kind: vscode.QuickPickItemKind.Separator, label: title },
    ...running.map((worker): RunningItem => ({
      label: `$(${STATE_ICONS.debugging.icon}) ${plain(worker.name)}`,
      description: vscode.l10n.t("running"),
      buttons: [DETACH],
      running: [worker],
    })),
    ...(running.length > 1 ? [all] : []),
  ];
}

function isFormer(item: Item): item is FormerItem {
  return "key" in item;
}

function isRunning(item: Item): item is RunningItem {
  return "running" in item;
}

function isCommand(item: Item): item is CommandItem {
  return "command" in item;
}

function isWorker(item: Item): item is WorkerItem {
  return "row" in item;
}
