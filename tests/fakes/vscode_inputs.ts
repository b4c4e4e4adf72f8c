/** Boxes and lists that a test types into and chooses from. */

import { EventEmitter } from "./vscode_values";

/** A box or a list: open until it is hidden, by the person or by the extension. */
class FakeQuickInput {
  title = "";
  placeholder = "";
  ignoreFocusOut = false;
  busy = false;
  value = "";
  open = false;
  disposed = false;
  protected readonly accepted = new EventEmitter<undefined>();
  private readonly hidden = new EventEmitter<undefined>();
  protected readonly changed = new EventEmitter<string>();
  readonly onDidAccept = this.accepted.event;
  readonly onDidHide = this.hidden.event;
  readonly onDidChangeValue = this.changed.event;
  show(): void {
    this.open = true;
  }
  hide(): void {
    if (this.open) {
      this.open = false;
      this.hidden.fire(undefined);
    }
  }
  /** As a person types. */
  type(value: string): void {
    this.value = value;
    this.changed.fire(value);
  }
  dispose(): void {
    this.hide();
    this.disposed = true;
  }
}

export class FakeInputBox extends FakeQuickInput {
  prompt = "";
  password = false;
  validationMessage: string | undefined = undefined;
  /** As a person types and presses Enter. */
  enter(value: string): void {
    this.type(value);
    this.accepted.fire(undefined);
  }
}

interface FakeQuickPickItem {
  label: string;
  kind?: number;
  description?: string;
  detail?: string;
  buttons?: readonly { tooltip: string }[];
}

export class FakeQuickPick extends FakeQuickInput {
  private readonly triggered = new EventEmitter<{ item: object; button: object }>();
  readonly onDidTriggerItemButton = this.triggered.event;
  matchOnDescription = false;
  matchOnDetail = false;
  keepScrollPosition = false;
  activeItems: readonly FakeQuickPickItem[] = [];
  /** How the test answers questions, where it does not work the list itself. */
  ask: ((pick: FakeQuickPick) => Promise<unknown>) | undefined;
  private listed: readonly FakeQuickPickItem[] = [];
  get items(): readonly FakeQuickPickItem[] {
    return this.listed;
  }
  /** VS Code activates the first row of a new list. */
  set items(items: readonly FakeQuickPickItem[]) {
    this.listed = items;
    this.activeItems = items.filter(({ kind }) => kind !== -1).slice(0, 1);
  }
  get selectedItems(): FakeQuickPick["items"] {
    return this.activeItems;
  }
  override show(): void {
    super.show();
    void this.ask?.(this).then((answer) => {
      this.answer(answer);
    });
  }
  /** A text is typed, a line chosen; nothing closes the list. */
  private answer(answer: unknown): void {
    if (typeof answer === "string") {
      this.enter(answer);
    } else if (answer === undefined) {
      this.hide();
    } else {
      this.activeItems = [answer as FakeQuickPickItem];
      this.accepted.fire(undefined);
    }
  }
  /** Enter on the line with this label. */
  choose(label: string): void {
    this.activeItems = this.items.filter((item) => item.label === label);
    if (this.activeItems.length === 0) {
      throw new Error(`there is no ${label} among ${this.lines.join(", ")}`);
    }
    this.accepted.fire(undefined);
  }
  /** A click on the button of a line. */
  press(label: string, tooltip: string): void {
    const item = this.items.find((one) => one.label === label);
    const button = item?.buttons?.find((one) => one.tooltip === tooltip);
    if (item === undefined || button === undefined) {
      throw new Error(`there is no ${tooltip} on ${label}`);
    }
    this.triggered.fire({ item, button });
  }
  /** As a person types and presses Enter at once, before the list has a line that is active. */
  enter(value: string): void {
    this.activeItems = [];
    this.type(value);
    this.accepted.fire(undefined);
  }
  get lines(): readonly string[] {
    return this.items.map((item) => (item.kind === -1 ? `— ${item.label}` : item.label));
  }
}
