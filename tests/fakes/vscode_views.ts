/** The marks that an extension shows beside the text, kept for the test. */

import {
  type CancellationTokenSource,
  EventEmitter,
  type ThemeColor,
  type TreeItem,
} from "./vscode_values";

export class FakeTreeView<T = unknown> {
  visible = false;
  badge: { value: number; tooltip: string } | undefined;
  message: string | undefined;
  description: string | undefined;
  selection: readonly T[] = [];
  readonly visibility = new EventEmitter<{ visible: boolean }>();
  readonly selected = new EventEmitter<{ selection: readonly T[] }>();
  readonly collapsed = new EventEmitter<{ element: T }>();
  readonly onDidCollapseElement = this.collapsed.event;
  readonly onDidChangeVisibility = this.visibility.event;
  readonly onDidChangeSelection = this.selected.event;
  constructor(readonly provider: { getChildren(row?: T): T[]; getTreeItem(row: T): TreeItem }) {}
  show(visible: boolean): void {
    this.visible = visible;
    this.visibility.fire({ visible });
  }
  select(...rows: T[]): void {
    this.selection = rows;
    this.selected.fire({ selection: rows });
  }
  dispose(): void {
    this.visibility.dispose();
  }
}

export class FakeChannel {
  text = "";
  shown = false;
  disposed = false;
  constructor(readonly name: string) {}
  append(text: string): void {
    this.text += text;
  }
  appendLine(text: string): void {
    this.text += `${text}\n`;
  }
  clear(): void {
    this.text = "";
  }
  show(): void {
    this.shown = true;
  }
  dispose(): void {
    this.disposed = true;
  }
  info(text: string): void {
    this.appendLine(`info ${text}`);
  }
  warn(text: string): void {
    this.appendLine(`warn ${text}`);
  }
  error(text: string): void {
    this.appendLine(`error ${text}`);
  }
  debug(text: string): void {
    this.appendLine(`debug ${text}`);
  }
}

export class FakeStatusBarItem {
  name = "";
  text = "";
  tooltip = "";
  command = "";
  shown = false;
  backgroundColor: ThemeColor | undefined;
  show(): void {
    this.shown = true;
  }
  hide(): void {
    this.shown = false;
  }
  dispose(): void {
    this.shown = false;
  }
}

export class FakeTerminal {
  shown = false;
  /** The focus stayed where it was when it was shown last. */
  beside = false;
  exitStatus: { code: number } | undefined;
  constructor(
    readonly options: Record<string, unknown>,
    private readonly closed: EventEmitter<FakeTerminal>,
  ) {}
  /** The lines that were typed into it. */
  readonly typed: string[] = [];
  show(beside = false): void {
    this.shown = true;
    this.beside = beside;
  }
  sendText(text: string): void {
    this.typed.push(text);
  }
  /** As a person closes it, or as its program ends. */
  close(): void {
    this.exitStatus = { code: 0 };
    this.closed.fire(this);
  }
  dispose(): void {
    this.close();
  }
}

export class FakeProgress {
  readonly reports: string[] = [];
  ended = false;
  constructor(
    readonly options: { title?: string; cancellable?: boolean; location: unknown },
    private readonly source: CancellationTokenSource,
  ) {}
  cancel(): void {
    this.source.cancel();
  }
}
