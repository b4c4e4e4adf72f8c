/** The editor's API as unit tests see it: records what was shown, answers as the test says. */

import {
  CancellationTokenSource,
  type Disposable,
  type DocumentLink,
  EventEmitter,
  type Range,
  Uri,
} from "./vscode_values";
import { FakeChannel, FakeStatusBarItem, FakeTreeView } from "./vscode_views";
import { type FakeEditorProvider, FakeWebviewPanel } from "./vscode_webviews";

export * from "./vscode_values";
export { FakeChannel, FakeStatusBarItem, FakeTreeView, FakeWebviewPanel };

/** What a message, box or picker showed, and how the test answers it. */
export interface Asked {
  readonly kind: "info" | "warning" | "error" | "input" | "pick" | "open";
  readonly text: string;
  readonly buttons: readonly string[];
  readonly options: Record<string, unknown>;
}

/** The test's side of the fake. */
class Editor {
  asked: Asked[] = [];
  /** Answers the next questions; one that throws or returns undefined dismisses. */
  answer: (asked: Asked) => unknown = () => undefined;
  settings: Record<string, unknown> = {};
  contextKeys: Record<string, unknown> = {};
  executed: { readonly command: string; readonly args: readonly unknown[] }[] = [];
  commands = new Map<string, (...args: unknown[]) => unknown>();
  /** What the editor's own commands do. */
  builtin = new Map<string, () => void>();
  views = new Map<string, FakeTreeView>();
  /** Editors of files, by their ids. */
  editors = new Map<string, FakeEditorProvider>();
  channels = new Map<string, FakeChannel>();
  statusBar: FakeStatusBarItem[] = [];
  /** Boxes and lists that were created, shown or not; the test types into them. */
  boxes: FakeInputBox[] = [];
  picks: FakeQuickPick[] = [];
  terminals: FakeTerminal[] = [];
  readonly terminalClosed = new EventEmitter<FakeTerminal>();
  /** How often all files were saved. */
  saved = 0;
  /** Every progress that was begun; `cancel` is the person's, `ended` says that its work is done. */
  progresses: FakeProgress[] = [];
  documents: { readonly uri: Uri; readonly text: string }[] = [];
  /** What was shown, with the line (from 0) that was selected. */
  shown: { readonly path: string; readonly line: number | undefined }[] = [];
  /** The document in the editor. */
  inView: { readonly uri: Uri; readonly languageId: string } | undefined;
  providers = new Map<string, { provideTextDocumentContent(uri: Uri): unknown }>();
  links = new Map<string, LinkProvider>();
  clipboard = "";
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

export const languages = {
  registerDocumentLinkProvider: ({ scheme }: { scheme: string }, provider: LinkProvider) => {
    editor.links.set(scheme, provider);
    return { dispose: () => void editor.links.delete(scheme) };
  },
};

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
  /** As a person types and presses Enter. */
  enter(value: string): void {
    this.type(value);
    this.accepted.fire(undefined);
  }
}

export class FakeQuickPick extends FakeQuickInput {
  private readonly triggered = new EventEmitter<{ item: object; button: object }>();
  readonly onDidTriggerItemButton = this.triggered.event;
  matchOnDescription = false;
  matchOnDetail = false;
  items: readonly {
    label: string;
    kind?: number;
    description?: string;
    detail?: string;
    buttons?: readonly { tooltip: string }[];
  }[] = [];
  activeItems: FakeQuickPick["items"] = [];
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

export class FakeTerminal {
  shown = false;
  /** The focus stayed where it was when it was shown last. */
  beside = false;
  exitStatus: { code: number } | undefined;
  constructor(readonly options: Record<string, unknown>) {}
  show(beside = false): void {
    this.shown = true;
    this.beside = beside;
  }
  /** As a person closes it, or as its program ends. */
  close(): void {
    this.exitStatus = { code: 0 };
    editor.terminalClosed.fire(this);
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

export const editor = new Editor();

function message(kind: Asked["kind"]) {
  return (text: string, ...rest: unknown[]): Promise<unknown> => {
    const options = typeof rest[0] === "object" ? (rest.shift() as Asked["options"]) : {};
    return editor.ask({ kind, text, buttons: rest as string[], options });
  };
}

export const window = {
  get activeTextEditor() {
    return editor.inView === undefined ? undefined : { document: editor.inView };
  },
  showInformationMessage: message("info"),
  showWarningMessage: message("warning"),
  showErrorMessage: message("error"),
  showInputBox: (options: Asked["options"]) =>
    editor.ask({ kind: "input", text: String(options["title"]), buttons: [], options }),
  showQuickPick: (items: unknown, options: Asked["options"] = {}) =>
    editor.ask({
      kind: "pick",
      text: String(options["title"]),
      buttons: [],
      options: { ...options, items },
    }),
  showOpenDialog: (options: Asked["options"]) =>
    editor.ask({ kind: "open", text: String(options["title"]), buttons: [], options }),
  createOutputChannel: (name: string) => {
    const channel = new FakeChannel(name);
    editor.channels.set(name, channel);
    return channel;
  },
  createStatusBarItem: () => {
    const item = new FakeStatusBarItem();
    editor.statusBar.push(item);
    return item;
  },
  registerCustomEditorProvider: (id: string, provider: FakeEditorProvider) => {
    editor.editors.set(id, provider);
    return { dispose: () => void editor.editors.delete(id) };
  },
  setStatusBarMessage: () => ({ dispose: () => undefined }),
  createTreeView: (id: string, options: { treeDataProvider: FakeTreeView["provider"] }) => {
    const view = new FakeTreeView(options.treeDataProvider);
    editor.views.set(id, view);
    return view;
  },
  createInputBox: () => {
    const box = new FakeInputBox();
    editor.boxes.push(box);
    return box;
  },
  createQuickPick: () => {
    const pick = new FakeQuickPick();
    editor.picks.push(pick);
    return pick;
  },
  createTerminal: (options: Record<string, unknown>) => {
    const terminal = new FakeTerminal(options);
    editor.terminals.push(terminal);
    return terminal;
  },
  onDidCloseTerminal: (listener: (terminal: FakeTerminal) => void) =>
    editor.terminalClosed.event(listener),
  withProgress: async (
    options: FakeProgress["options"],
    work: (report: object, cancel: object) => Promise<unknown>,
  ) => {
    const source = new CancellationTokenSource();
    const progress = new FakeProgress(options, source);
    editor.progresses.push(progress);
    const report = ({ message }: { message: string }): number => progress.reports.push(message);
    try {
      return await work({ report }, source.token);
    } finally {
      progress.ended = true;
    }
  },
  showTextDocument: (
    shown: Uri | { readonly uri: Uri },
    { selection }: { readonly selection?: Range } = {},
  ) => {
    const { path } = shown instanceof Uri ? shown : shown.uri;
    editor.shown.push({ path, line: selection?.startLine });
    return Promise.resolve({ revealRange: () => undefined });
  },
};

export const commands = {
  registerCommand: (id: string, handler: (...args: unknown[]) => unknown) => {
    editor.commands.set(id, handler);
    return { dispose: () => void editor.commands.delete(id) };
  },
  executeCommand: (command: string, ...args: unknown[]) => {
    if (command === "setContext") {
      editor.contextKeys[String(args[0])] = args[1];
    } else {
      editor.executed.push({ command, args });
      editor.builtin.get(command)?.();
    }
    return Promise.resolve(undefined);
  },
};

export const workspace = {
  saveAll: () => {
    editor.saved += 1;
    return Promise.resolve(true);
  },
  getWorkspaceFolder: (uri: Uri) =>
    editor.folders.find((folder) => uri.path.startsWith(`${folder.uri.path}/`)),
  asRelativePath: (path: string) => path,
  get isTrusted() {
    return editor.trusted;
  },
  get workspaceFolders() {
    return editor.folders;
  },
  getConfiguration: (section: string) => ({
    get: (name: string, fallback?: unknown) => editor.settings[`${section}.${name}`] ?? fallback,
    update: (name: string, value: unknown) => {
      editor.change(`${section}.${name}`, value);
      return Promise.resolve();
    },
  }),
  onDidChangeConfiguration: (
    listener: (change: { affectsConfiguration(name: string): boolean }) => void,
  ) => editor.settingChanged.event(listener),
  onDidGrantWorkspaceTrust: (listener: () => void) => editor.trustGranted.event(listener),
  onDidCloseTextDocument: () => ({ dispose: () => undefined }),
  registerTextDocumentContentProvider: (
    scheme: string,
    provider: { provideTextDocumentContent(uri: Uri): unknown },
  ) => {
    editor.providers.set(scheme, provider);
    return { dispose: () => void editor.providers.delete(scheme) };
  },
  openTextDocument: async (opened: Uri | { readonly content: string }) => {
    const uri = opened instanceof Uri ? opened : Uri.from({ scheme: "untitled" });
    const provided = editor.providers.get(uri.scheme)?.provideTextDocumentContent(uri);
    const text = opened instanceof Uri ? String(await provided) : opened.content;
    editor.documents.push({ uri, text });
    return { uri, lineCount: text.split("\n").length, lineAt: () => ({ range: {} }) };
  },
};

export class SourceBreakpoint {
  readonly condition?: string;
  readonly hitCondition?: string;
  readonly logMessage?: string;
  constructor(
    readonly location: { readonly uri: Uri; readonly range: { readonly start: { line: number } } },
    readonly enabled = true,
    more: { condition?: string; hitCondition?: string; logMessage?: string } = {},
  ) {
    Object.assign(this, more);
  }
}

export interface FakeSession {
  readonly id: string;
  readonly type: string;
  readonly name: string;
  readonly configuration: Record<string, unknown>;
}

interface ConfigurationProvider {
  resolveDebugConfigurationWithSubstitutedVariables?(
    folder: undefined,
    config: Record<string, unknown>,
  ): Promise<Record<string, unknown> | undefined>;
}

/** Starts sessions as the editor does: through every provider, until one gives the configuration up. */
export class FakeDebug {
  providers: ConfigurationProvider[] = [];
  factory: { createDebugAdapterDescriptor(session: FakeSession): unknown } | undefined;
  trackers: { createDebugAdapterTracker(session: FakeSession): unknown }[] = [];
  sessions: FakeSession[] = [];
  activeDebugSession: FakeSession | undefined;
  activeStackItem: { session: FakeSession; frameId?: number } | undefined;
  readonly sessionChanged = new EventEmitter<FakeSession | undefined>();
  readonly itemChanged = new EventEmitter<FakeDebug["activeStackItem"]>();
  readonly onDidChangeActiveDebugSession = this.sessionChanged.event;
  readonly onDidChangeActiveStackItem = this.itemChanged.event;
  breakpoints: SourceBreakpoint[] = [];
  readonly breakpointsChanged = new EventEmitter<object>();
  readonly onDidChangeBreakpoints = this.breakpointsChanged.event;
  readonly started = new EventEmitter<FakeSession>();
  readonly ended = new EventEmitter<FakeSession>();
  readonly onDidStartDebugSession = this.started.event;
  readonly onDidTerminateDebugSession = this.ended.event;

  reset(): void {
    Object.assign(this, { providers: [], trackers: [], sessions: [], factory: undefined });
    this.breakpoints = [];
    this.activeDebugSession = undefined;
    this.activeStackItem = undefined;
  }
  /** As the gutter does. */
  setBreakpoints(...breakpoints: SourceBreakpoint[]): void {
    this.breakpoints = breakpoints;
    this.breakpointsChanged.fire({});
  }
  /** The editor looks at a session, and at a frame of it where it stands. */
  lookAt(session: FakeSession, stands: boolean): void {
    this.activeDebugSession = session;
    this.activeStackItem = stands ? { session, frameId: 1 } : { session };
    this.sessionChanged.fire(session);
    this.itemChanged.fire(this.activeStackItem);
  }
  registerDebugConfigurationProvider(_type: string, provider: ConfigurationProvider): Disposable {
    this.providers.push(provider);
    return { dispose: () => undefined };
  }
  registerDebugAdapterDescriptorFactory(_type: string, factory: FakeDebug["factory"]): Disposable {
    this.factory = factory;
    return { dispose: () => undefined };
  }
  registerDebugAdapterTrackerFactory(
    _type: string,
    factory: FakeDebug["trackers"][number],
  ): Disposable {
    this.trackers.push(factory);
    return { dispose: () => undefined };
  }
  async startDebugging(_folder: unknown, given: Record<string, unknown>): Promise<boolean> {
    let config: Record<string, unknown> | undefined = given;
    for (const provider of this.providers) {
      config = await provider.resolveDebugConfigurationWithSubstitutedVariables?.(
        undefined,
        config,
      );
      if (config === undefined) {
        return false;
      }
    }
    const id = String(this.sessions.length + 1);
    const name = String(config["name"]);
    const session = { id, type: "eagleray", name, configuration: config };
    this.sessions.push(session);
    this.activeDebugSession = session;
    this.started.fire(session);
    return true;
  }
}

export const debug = new FakeDebug();
export const DebugConfigurationProviderTriggerKind = { Initial: 1, Dynamic: 2 };
export class DebugAdapterNamedPipeServer {
  constructor(readonly path: string) {}
}

export const env = {
  sessionId: "5e55",
  remoteName: undefined,
  clipboard: {
    writeText: (text: string) => {
      editor.clipboard = text;
      return Promise.resolve();
    },
  },
};

/** Tasks end at once, with the code that the test says. */
export const tasks = {
  known: [] as { readonly name: string; readonly source: string; readonly code: number }[],
  done: [] as string[],
  ended: new EventEmitter<{ readonly execution: object; readonly exitCode: number }>(),
  onDidEndTaskProcess: (
    listener: (end: { readonly execution: object; readonly exitCode: number }) => void,
  ) => tasks.ended.event(listener),
  fetchTasks: () => Promise.resolve(tasks.known),
  executeTask: (task: { readonly name: string; readonly code: number }) => {
    const execution = {};
    tasks.done.push(task.name);
    tasks.ended.fire({ execution, exitCode: task.code });
    return Promise.resolve(execution);
  },
};

export const extensions = { getExtension: () => undefined };
