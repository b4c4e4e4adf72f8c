/** The small classes and tables of the editor's API, as unit tests see them. */

export class Disposable {
  readonly dispose: () => void;
  constructor(end: () => unknown) {
    this.dispose = () => void end();
  }
  static from(...owned: { dispose(): unknown }[]): Disposable {
    return new Disposable(() => {
      for (const one of owned) {
        one.dispose();
      }
    });
  }
}

export class EventEmitter<T> {
  private readonly listeners = new Set<(value: T) => unknown>();
  readonly event = (listener: (value: T) => unknown): Disposable => {
    const own = (value: T): unknown => listener(value);
    this.listeners.add(own);
    return new Disposable(() => this.listeners.delete(own));
  };
  fire(value: T): void {
    for (const listener of [...this.listeners]) {
      listener(value);
    }
  }
  dispose(): void {
    this.listeners.clear();
  }
}

export class Uri {
  private constructor(
    readonly scheme: string,
    readonly authority: string,
    readonly path: string,
    readonly query: string,
    readonly fragment = "",
  ) {}
  static from({
    scheme,
    authority = "",
    path = "",
    query = "",
    fragment = "",
  }: {
    scheme: string;
    authority?: string;
    path?: string;
    query?: string;
    fragment?: string;
  }): Uri {
    return new Uri(scheme, authority, path, query, fragment);
  }
  static file(path: string): Uri {
    return new Uri("file", "", path, "");
  }
  static parse(text: string): Uri {
    const { protocol, host, pathname, search } = new URL(text);
    return new Uri(protocol.slice(0, -1), host, decodeURIComponent(pathname), search.slice(1));
  }
  static joinPath({ scheme, path }: Uri, ...names: string[]): Uri {
    return Uri.from({ scheme, path: [path, ...names].join("/") });
  }
  get fsPath(): string {
    return this.path;
  }
  toString(): string {
    return `${this.scheme}://${this.authority}${this.path}${this.query && `?${this.query}`}`;
  }
}

export class ThemeColor {
  constructor(readonly id: string) {}
}
export class ThemeIcon {
  constructor(
    readonly id: string,
    readonly color?: ThemeColor,
  ) {}
}
export class FileSystemError extends Error {
  constructor(readonly code: string) {
    super(code);
  }
}

export class Range {
  constructor(
    readonly startLine: number,
    readonly startCharacter: number,
    readonly endLine: number,
    readonly endCharacter: number,
  ) {}
}

export const DiagnosticSeverity = { Error: 0, Warning: 1, Information: 2, Hint: 3 };

export class Diagnostic {
  code?: string;
  source?: string;
  constructor(
    readonly range: Range,
    readonly message: string,
    readonly severity: number,
  ) {}
}

/** Problems by the paths of their files. */
export class FakeDiagnostics {
  readonly files = new Map<string, readonly Diagnostic[]>();
  isDisposed = false;
  set(uri: Uri, problems: readonly Diagnostic[]): void {
    this.assertUsable();
    this.files.set(uri.path, problems);
  }
  delete(uri: Uri): void {
    this.assertUsable();
    this.files.delete(uri.path);
  }
  clear(): void {
    this.assertUsable();
    this.files.clear();
  }
  dispose(): void {
    this.files.clear();
    this.isDisposed = true;
  }
  /** As the editor's own. */
  private assertUsable(): void {
    if (this.isDisposed) {
      throw new Error("illegal state - object is disposed");
    }
  }
}

export class CodeLens {
  constructor(
    readonly range: Range,
    readonly command: {
      readonly title: string;
      readonly command: string;
      readonly arguments: readonly unknown[];
    },
  ) {}
}

export class DocumentLink {
  constructor(
    readonly range: Range,
    readonly target: Uri,
  ) {}
}

export const DecorationRangeBehavior = { ClosedClosed: 1 };

/** Markdown as text: appended text is escaped as the editor does. */
export class MarkdownString {
  isTrusted: boolean | { readonly enabledCommands: readonly string[] } = false;
  constructor(
    public value = "",
    readonly supportThemeIcons = false,
  ) {}
  appendText(text: string): this {
    this.value += text.replaceAll(/[\\`*_{}[\]()#+\-!~]/g, "\\$&");
    return this;
  }
  appendMarkdown(text: string): this {
    this.value += text;
    return this;
  }
}

export class TreeItem {
  id?: string;
  description?: string;
  tooltip?: string;
  contextValue?: string;
  accessibilityInformation?: { label: string };
  iconPath?: ThemeIcon;
  command?: { command: string; arguments: unknown[] };
  constructor(
    readonly label: string,
    readonly collapsibleState: number,
  ) {}
}

export class CancellationTokenSource {
  private readonly cancelled = new EventEmitter<undefined>();
  readonly token = {
    isCancellationRequested: false,
    onCancellationRequested: this.cancelled.event,
  };
  cancel(): void {
    this.token.isCancellationRequested = true;
    this.cancelled.fire(undefined);
  }
  dispose(): void {
    this.cancelled.dispose();
  }
}

export const TreeItemCollapsibleState = { None: 0, Collapsed: 1, Expanded: 2 };
export const StatusBarAlignment = { Left: 1, Right: 2 };
export const QuickPickItemKind = { Separator: -1, Default: 0 };
export const ConfigurationTarget = { Global: 1, Workspace: 2 };
export const ProgressLocation = { SourceControl: 1, Window: 10, Notification: 15 };
export const TextEditorRevealType = { Default: 0 };
