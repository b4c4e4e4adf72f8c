/** A pick list that is drawn anew while one types, and while what it offers is still being asked for. */

import * as vscode from "vscode";

import type { Choice, Chosen, Section } from "./choices";

/** How the list looks now, for what was typed. */
export type Sections = (typed: string) => readonly Section[];

export interface Asking {
  readonly title: string;
  readonly placeholder: string;
  /** What is offered at once, and again after `load`. */
  readonly sections: Sections;
  /** Brings what takes long; the list shows that it is busy.  Ends early when the list is closed. */
  load?(cancel: vscode.CancellationToken): Promise<void>;
}

interface Item extends vscode.QuickPickItem {
  readonly choice?: Choice;
}

/** What the person chose; undefined when they closed the list. */
export async function pickChoice(asking: Asking): Promise<Chosen | undefined> {
  const pick = vscode.window.createQuickPick<Item>();
  const cancel = new vscode.CancellationTokenSource();
  pick.title = asking.title;
  pick.placeholder = asking.placeholder;
  pick.matchOnDescription = true;
  pick.matchOnDetail = true;
  pick.ignoreFocusOut = true;
  const items = (): readonly Item[] => itemsOf(asking.sections(pick.value));
  try {
    return await new Promise<Chosen | undefined>((resolve) => {
      pick.onDidChangeValue(() => {
        pick.items = items();
      });
      pick.onDidAccept(() => {
        const chosen = pick.activeItems[0]?.choice?.chosen ?? typedChoice(pick);
        if (chosen !== undefined) {
          resolve(chosen);
        }
      });
      pick.onDidHide(() => {
        resolve(undefined);
      });
      pick.items = items();
      pick.show();
      void load(asking, pick, cancel.token).then(() => {
        redraw(pick, items());
      });
    });
  } finally {
    cancel.cancel();
    cancel.dispose();
    pick.dispose();
  }
}

async function load(
  asking: Asking,
  pick: vscode.QuickPick<Item>,
  cancel: vscode.CancellationToken,
): Promise<void> {
  pick.busy = asking.load !== undefined;
  await asking.load?.(cancel);
  pick.busy = false;
}

/** Who has gone to another line than the first stays on it; by itself the editor would go back. */
function redraw(pick: vscode.QuickPick<Item>, items: readonly Item[]): void {
  const before = pick.activeItems[0];
  const hasMoved = before !== pick.items.find(canBeChosen);
  pick.items = items;
  const same = items.find((item) => hasMoved && canBeChosen(item) && item.label === before?.label);
  const active = same ?? items.find(canBeChosen);
  if (active !== undefined) {
    pick.activeItems = [active];
  }
}

/** What was typed stands for itself: Enter may come before the editor has drawn the list for it. */
function typedChoice({ value, items }: vscode.QuickPick<Item>): Chosen | undefined {
  const typed = items.find((item) => item.alwaysShow === true && canBeChosen(item));
  return value === "" ? undefined : typed?.choice?.chosen;
}

function canBeChosen(item: Item): boolean {
  return item.choice?.chosen !== undefined;
}

function itemsOf(sections: readonly Section[]): readonly Item[] {
  return sections.flatMap(({ title, choices }) => [
    { label: title, kind: vscode.QuickPickItemKind.Separator },
    ...choices.map((choice) => ({
      label: choice.label,
      description: choice.description,
      detail: choice.detail,
      iconPath: new vscode.ThemeIcon(choice.icon),
      alwaysShow: choice.always === true,
      choice,
    })),
  ]);
}
