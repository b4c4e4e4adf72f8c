/** The editor's API as unit tests see it: records what was shown, answers as the test says. */

import { type Asked, editor, type LensProvider, type LinkProvider } from "./vscode_editor";
import { FakeInputBox, FakeQuickPick } from "./vscode_inputs";
import {
  CancellationTokenSource,
  EventEmitter,
  FileSystemError,
  FakeDiagnostics,
  type Range,
  Uri,
} from "./vscode_values";
import {
  FakeChannel,
  FakeProgress,
  FakeStatusBarItem,
  FakeTerminal,
  FakeTreeView,
} from "./vscode_views";
import { type FakeEditorProvider, FakeWatcher, FakeWebviewPanel } from "./vscode_webviews";

export * from "./vscode_debug";
export * from "./vscode_editor";
export * from "./vscode_inputs";
export * from "./vscode_values";
export * from "./vscode_views";
export * from "./vscode_webviews";

export const languages = {
  createDiagnosticCollection: () => {
    const collection = new FakeDiagnostics();
    editor.diagnostics.add(collection);
    return collection;
  },
  registerDocumentLinkProvider: ({ scheme }: { scheme: string }, provider: LinkProvider) => {
    editor.links.set(scheme, provider);
    return { dispose: () => void editor.links.delete(scheme) };
  },
  registerCodeLensProvider: (_: object, provider: LensProvider) => {
    editor.lenses = provider;
    return { dispose: () => (editor.lenses = undefined) };
  },
};

function message(kind: Asked["kind"]) {
  return (text: string, ...rest: unknown[]): Promise<unknown> => {
    const options = typeof rest[0] === "object" ? (rest.shift() as Asked["options"]) : {};
    return editor.ask({ kind, text, buttons: rest as string[], options });
  };
}

/** Asks once the list has loaded its rows; a list for a path leads to its dialog, which asks. */
async function askedList(pick: FakeQuickPick): Promise<unknown> {
  while (pick.busy) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { title, placeholder, items } = pick;
  const browse = items.find(({ label }) => label === "$(folder) Browse…");
  if (browse !== undefined && placeholder.startsWith("Path of ")) {
    return browse;
  }
  const options = { title, placeHolder: placeholder, items };
  return await editor.ask({ kind: "pick", text: title, buttons: [], options });
}

export const window = {
  get activeTextEditor() {
    return editor.inView === undefined ? undefined : { document: editor.inView };
  },
  get visibleTextEditors() {
    return editor.visible;
  },
  onDidChangeVisibleTextEditors: (listener: () => void) => editor.visibleChanged.event(listener),
  createTextEditorDecorationType: () => ({ dispose: () => undefined }),
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
  showSaveDialog: (options: Asked["options"]) =>
    editor.ask({ kind: "save", text: String(options["title"]), buttons: [], options }),
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
  createWebviewPanel: (type: string, title: string) => {
    const panel = new FakeWebviewPanel(type, title);
    editor.panels.push(panel);
    return panel;
  },
  registerWebviewPanelSerializer: (
    type: string,
    serializer: { deserializeWebviewPanel(panel: unknown, state: unknown): Promise<void> },
  ) => {
    editor.serializers.set(type, serializer);
    return { dispose: () => void editor.serializers.delete(type) };
  },
  setStatusBarMessage: (text: string) => {
    editor.statusMessages.push(text);
    return { dispose: () => undefined };
  },
  registerTerminalLinkProvider: () => ({ dispose: () => undefined }),
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
    pick.ask = editor.answersLists ? askedList : undefined;
    editor.picks.push(pick);
    return pick;
  },
  createTerminal: (options: Record<string, unknown>) => {
    const terminal = new FakeTerminal(options, editor.terminalClosed);
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
  getCommands: () => Promise.resolve([...editor.commands.keys(), ...editor.builtin.keys()]),
  executeCommand: (command: string, ...args: unknown[]) => {
    if (command === "setContext") {
      editor.contextKeys[String(args[0])] = args[1];
    } else {
      editor.executed.push({ command, args });
      return Promise.resolve(editor.builtin.get(command)?.());
    }
    return Promise.resolve(undefined);
  },
};

export class RelativePattern {
  constructor(
    readonly base: Uri,
    readonly pattern: string,
  ) {}
}

export const workspace = {
  createFileSystemWatcher: () => {
    const watcher = new FakeWatcher();
    editor.watchers.push(watcher);
    return watcher;
  },
  saveAll: () => {
    editor.saved += 1;
    return Promise.resolve(true);
  },
  getWorkspaceFolder: (uri: Uri) =>
    editor.folders.find((folder) => uri.path.startsWith(`${folder.uri.path}/`)),
  asRelativePath: (path: string) => path,
  findFiles: () => Promise.resolve([]),
  get isTrusted() {
    return editor.trusted;
  },
  get workspaceFolders() {
    return editor.folders.length === 0 ? undefined : editor.folders;
  },
  getConfiguration: (section: string) => ({
    get: (name: string, fallback?: unknown) => editor.settings[`${section}.${name}`] ?? fallback,
    update: (name: string, value: unknown) => {
      editor.change(`${section}.${name}`, value);
      return Promise.resolve();
    },
  }),
  onDidChangeTextDocument: (listener: (change: { readonly document: unknown }) => void) =>
    editor.typed.event(listener),
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
  fs: {
    stat: (uri: Uri) =>
      editor.files.has(uri.path)
        ? Promise.resolve({})
        : Promise.reject(new FileSystemError("FileNotFound")),
    readFile: (uri: Uri) => {
      const text = editor.files.get(uri.path);
      return text === undefined
        ? Promise.reject(new FileSystemError(editor.readError))
        : Promise.resolve(Buffer.from(text));
    },
    writeFile: (uri: Uri, content: Uint8Array) => {
      editor.files.set(uri.path, Buffer.from(content).toString());
      return Promise.resolve();
    },
  },
  openTextDocument: async (opened: Uri | { readonly content: string }) => {
    const uri = opened instanceof Uri ? opened : Uri.from({ scheme: "untitled" });
    const provided = editor.providers.get(uri.scheme)?.provideTextDocumentContent(uri);
    const text = opened instanceof Uri ? String(await provided) : opened.content;
    editor.documents.push({ uri, text });
    return { uri, lineCount: text.split("\n").length, lineAt: () => ({ range: {} }) };
  },
};

export const env = {
  sessionId: "5e55",
  remoteName: undefined,
  asExternalUri: (uri: Uri) => Promise.resolve(uri),
  openExternal: (uri: Uri) => {
    editor.opened.push(uri.toString());
    return Promise.resolve(true);
  },
  clipboard: {
    readText: () => Promise.resolve(editor.clipboard),
    writeText: (text: string) => {
      editor.clipboard = text;
      return Promise.resolve();
    },
  },
};

interface FakeTask {
  readonly name: string;
  readonly source: string;
  /** The code of its process; a task without one only names others. */
  readonly code?: number;
}

/** Tasks end at once, with the code that the test says. */
export const tasks = {
  known: [] as FakeTask[],
  done: [] as string[],
  ended: new EventEmitter<{ readonly execution: object; readonly exitCode: number }>(),
  over: new EventEmitter<{ readonly execution: object }>(),
  onDidEndTaskProcess: (
    listener: (end: { readonly execution: object; readonly exitCode: number }) => void,
  ) => tasks.ended.event(listener),
  onDidEndTask: (listener: (end: { readonly execution: object }) => void) =>
    tasks.over.event(listener),
  fetchTasks: () => Promise.resolve(tasks.known),
  executeTask: ({ name, code }: FakeTask) => {
    const execution = {};
    tasks.done.push(name);
    if (code !== undefined) {
      tasks.ended.fire({ execution, exitCode: code });
    }
    tasks.over.fire({ execution });
    return Promise.resolve(execution);
  },
};

type Values = readonly (string | number | boolean)[] | Readonly<Record<string, string | number>>;

/** The editor's translation, in English: only the placeholders are filled in. */
export const l10n = {
  t(
    message: string | { readonly message: string; readonly args?: Values },
    ...rest: readonly unknown[]
  ): string {
    const { message: text, args } =
      typeof message === "string"
        ? { message, args: typeof rest[0] === "object" ? (rest[0] as Values) : (rest as Values) }
        : message;
    const values = new Map(Object.entries(args ?? []));
    return text.replaceAll(/\{([^}]+)\}/g, (whole, name: string) =>
      values.has(name) ? String(values.get(name)) : whole,
    );
  },
};

export const ViewColumn = { Active: -1, Beside: -2 };

export const extensions: {
  all: readonly { readonly packageJSON: object }[];
  getExtension(): undefined;
} = { all: [], getExtension: () => undefined };

export class TerminalLink {
  constructor(
    readonly startIndex: number,
    readonly length: number,
    readonly tooltip?: string,
  ) {}
}
