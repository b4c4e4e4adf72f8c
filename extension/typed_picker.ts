/** A pick list that takes typed and pasted text, too: its first row says what the text is understood as. */

import * as vscode from "vscode";

/** A row without a `value` only explains, and Enter does nothing on it. */
export interface PickRow<T> extends vscode.QuickPickItem {
  readonly value?: T | undefined;
}

export interface TypedPick<T> {
  readonly title: string;
  readonly placeholder: string;
  /** The rows at once, after `load`, and for each typed text. */
  rows(typed: string): readonly PickRow<T>[];
  /** Fetches what takes long, while the list shows that it is busy; ends early when the list is closed. */
  load?(cancel: vscode.CancellationToken): Promise<void>;
  /** The row of a text that is more than a filter of the rows: what it is understood as, or why it can't be used. */
  understood?(typed: string): Promise<PickRow<T> | undefined>;
}

/** The user's choice; undefined when they closed the list. */
export async function pickOrType<T>(options: TypedPick<T>): Promise<T | undefined> {
  const picker = new TypedPicker(options);
  try {
    return await picker.chosen();
  } finally {
    picker.dispose();
  }
}

/** The row of a typed text that can be used; it is shown whatever the rows are called. */
export function usedRow<T>(label: string, description: string, value: T): PickRow<T> {
  return { label, description, value, alwaysShow: true, iconPath: new vscode.ThemeIcon("check") };
}

/** The row of a typed text that can't be used. */
export function refusedRow(label: string, detail: string): PickRow<never> {
  return { label, detail, alwaysShow: true, iconPath: new vscode.ThemeIcon("error") };
}

class TypedPicker<T> {
  private readonly pick = vscode.window.createQuickPick<PickRow<T>>();
  private readonly cancel = new vscode.CancellationTokenSource();
  /** The row of the text in the box, once it is validated. */
  private typed: PickRow<T> | undefined;
  private validating: Promise<void> = Promise.resolve();

  constructor(private readonly options: TypedPick<T>) {
    const { pick } = this;
    pick.title = options.title;
    pick.placeholder = options.placeholder;
    pick.matchOnDescription = true;
    pick.matchOnDetail = true;
    pick.ignoreFocusOut = true;
    pick.items = this.rows();
  }

  chosen(): Promise<T | undefined> {
    const { pick } = this;
    return new Promise((resolve, reject) => {
      pick.onDidChangeValue(() => {
        this.typed = undefined;
        pick.items = this.rows();
        this.validating = this.validate(pick.value);
      });
      pick.onDidAccept(() => {
        // Enter may come before the text is validated, or the editor has drawn its row.
        void this.validating.then(() => {
          const chosen = pick.activeItems[0]?.value ?? this.typedValue();
          if (chosen !== undefined) {
            resolve(chosen);
          }
        });
      });
      pick.onDidHide(() => {
        resolve(undefined);
      });
      this.load().catch(reject);
      pick.show();
    });
  }

  dispose(): void {
    this.cancel.cancel();
    this.cancel.dispose();
    this.pick.dispose();
  }

  private rows(): readonly PickRow<T>[] {
    const rows = this.options.rows(this.pick.value);
    return this.typed === undefined ? rows : [this.typed, ...rows];
  }

  private async validate(text: string): Promise<void> {
    const row = text.trim() === "" ? undefined : await this.options.understood?.(text.trim());
    if (row !== undefined && text === this.pick.value) {
      this.typed = row;
      this.pick.items = this.rows();
      this.pick.activeItems = [row];
    }
  }

  private async load(): Promise<void> {
    const { pick, options } = this;
    if (options.load !== undefined) {
      pick.busy = true;
      await options.load(this.cancel.token);
      pick.busy = false;
      this.redraw();
    }
  }

  /** Keeps the active line if that isn't the first; the editor would go back to the first. */
  private redraw(): void {
    const { pick } = this;
    const before = pick.activeItems[0];
    const hasMoved = before !== pick.items.find(canBeChosen);
    const items = this.rows();
    pick.items = items;
    const same = items.find((row) => hasMoved && canBeChosen(row) && row.label === before?.label);
    const active = same ?? items.find(canBeChosen);
    if (active !== undefined) {
      pick.activeItems = [active];
    }
  }

  private typedValue(): T | undefined {
    const { value, items } = this.pick;
    const row = this.typed ?? items.find((row) => row.alwaysShow === true && canBeChosen(row));
    return value === "" ? undefined : row?.value;
  }
}

function canBeChosen(row: PickRow<unknown>): boolean {
  return row.value !== undefined;
}
