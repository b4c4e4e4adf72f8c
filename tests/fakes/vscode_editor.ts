/** The test's side of the fake editor: what was shown and done, and how the test answers. */

import type { FakeInputBox, FakeQuickPick } from "./vscode_inputs";
import {
  type CodeLens,
  type DocumentLink,
  EventEmitter,
  type FakeDiagnostics,
  type Uri,
} from "./vscode_values";
import type {
  FakeChannel,
  FakeProgress,
  FakeStatusBarItem,
  FakeTerminal,
  FakeTreeView,
} from "./vscode_views";
import type { FakeEditorProvider, FakeWatcher, FakeWebviewPanel } from "./vscode_webviews";

/** The content of a message, box or picker, and how the test answers it. */
export interface Asked {
  readonly kind: "info" | "warning" | "error" | "input" | "pick" | "open" | "save";
  readonly text: string;
  readonly buttons: readonly string[];
  readonly options: Record<string, unknown>;
}

class Editor {
  asked: Asked[] = [];
  /** Answers the next questions; one that throws or returns undefined dismisses. */
  answer: (asked: Asked) => unknown = () => undefined;
  settings: Record<string, unknown> = {};
  contextKeys: Record<string, unknown> = {};
  executed: { readonly command: string; readonly args: readonly unknown[] }[] = [];
  commands = new Map<string, (...args: unknown[]) => unknown>();
  /** The effects of the editor's own commands. */
  builtin = new Map<string, () => unknown>();
  views = new Map<string, FakeTreeView>();
  /** Editors of files, by their ids. */
  editors = new Map<string, FakeEditorProvider>();
  panels: FakeWebviewPanel[] = [];
  watchers: FakeWatcher[] = [];
  serializers = new Map<
    string,
    { deserializeWebviewPanel(panel: unknown, state: unknown): Promise<void> }
  >();
  /** The texts of files, by their paths. */
  files = new Map<string, string>();
  /** The code of the error when another file is read. */
  readError = "FileNotFound";
  channels = new Map<string, FakeChannel>();
  statusBar: FakeStatusBarItem[] = [];
  /** Boxes and lists that were created, shown or not; the test types into them. */
  boxes: FakeInputBox[] = [];
  picks: FakeQuickPick[] = [];
  /** Whether `answer` answers lists, too, in place of a test that works them. */
  answersLists = true;
  terminals: FakeTerminal[] = [];
  /** The texts that the status bar showed for a while. */
  statusMessages: string[] = [];
  readonly terminalClosed = new EventEmitter<FakeTerminal>();
  /** How often all files were saved. */
  saved = 0;
  /** Every progress that was begun; `cancel` is the person's, `ended` says that its work is done. */
  progresses: FakeProgress[] = [];
  documents: { readonly uri: Uri; readonly text: string }[] = [];
  /** The documents that were shown, with the line (from 0) that was selected. */
  shown: { readonly path: string; readonly line: number | undefined }[] = [];
  /** The document in the editor. */
  inView: { readonly uri: Uri; readonly languageId: string } | undefined;
  /** The editors side by side. */
  visible: unknown[] = [];
  readonly visibleChanged = new EventEmitter<undefined>();
  /** The text that the user has typed. */
  readonly typed = new EventEmitter<{ readonly document: unknown }>();
  providers = new Map<string, { provideTextDocumentContent(uri: Uri): unknown }>();
  links = new Map<string, LinkProvider>();
  /** The lists of problems that were not disposed. */
  diagnostics = new Set<FakeDiagnostics>();
  lenses: LensProvider | undefined;
  clipboard = "";
  /** The addresses that were opened in a browser. */
  opened: string[] = [];
  trusted = true;
  folders: { readonly uri: Uri; readonly name: string; readonly index: number }[] = [];
  readonly settingChanged = new EventEmitter<{ affectsConfiguration(name: string): boolean }>();
  readonly trustGranted = new EventEmitter<undefined>();

  reset(): void {
    Object.assign(this, new Editor());
  }

  async ask(asked: Asked): Promise<unknown> {
    this.asked.push(asked);
    return Promise.resolve(this.answer(asked));
  }

  change(name: string, value: unknown): void {
    this.settings[name] = value;
    this.settingChanged.fire({ affectsConfiguration: (asked) => name.startsWith(asked) });
  }

  /** Runs a command as a key, a menu or the palette would. */
  async run(command: string, ...args: unknown[]): Promise<unknown> {
    const handler = this.commands.get(command);
    if (handler === undefined) {
      throw new Error(`there is no command ${command}`);
    }
    return await handler(...args);
  }
}

export interface LinkProvider {
  provideDocumentLinks(document: { readonly uri: Uri }): readonly DocumentLink[];
}

export interface LensProvider {
  onDidChangeCodeLenses(listener: () => void): unknown;
  provideCodeLenses(document: object, cancel: unknown): Promise<readonly CodeLens[]>;
}

export const editor = new Editor();
