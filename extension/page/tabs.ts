/** The tabs with pages of ours: each has its messages, and ends with its panel. */

import { homedir } from "node:os";
import { basename, join } from "node:path";

import * as vscode from "vscode";

import type { App } from "../app";
import { Disposables } from "../common/disposables";
import { plain, type Verbatim } from "../common/texts";
import { workspaceFolder } from "../workspace";
import { drawPage } from "./document";
import type { Stored, ToPage } from "./messages";

/** `script` is the page's name in `dist`; `doing` names it in the log of an error. */
export interface PageKind {
  readonly script: Verbatim;
  readonly doing: Verbatim;
}

/** A tab whose page sends messages of the kind `From` and gets messages of the kind `To`. */
export abstract class PageTab<From, To> implements vscode.Disposable {
  protected readonly owned = new Disposables();
  protected isOver = false;
  private isBusy = false;

  constructor(
    protected readonly app: App,
    protected readonly panel: vscode.WebviewPanel,
    { script, doing }: PageKind,
    title: string,
  ) {
    this.owned.add(
      panel.webview.onDidReceiveMessage((message: From) => {
        void app.errors.shown(doing, () => this.take(message));
      }),
    );
    panel.onDidDispose(() => {
      this.dispose();
    });
    drawPage(panel.webview, app.context, script, title);
  }

  dispose(): void {
    this.isOver = true;
    this.owned.dispose();
  }

  /** Brings the tab to the front, as a command does that the user has just run. */
  focus(): void {
    this.panel.reveal();
  }

  protected abstract take(message: From): Promise<void>;

  /** Messages for a page that was closed are dropped. */
  protected post(message: To | ToPage): void {
    if (!this.isOver) {
      void this.panel.webview.postMessage(message);
    }
  }

  /** Makes what the page shows again, unless that is being done; the page shows that it is. */
  protected async repeat<T>(
    make: () => Promise<T | undefined>,
    show: (made: T) => void,
  ): Promise<void> {
    if (this.isBusy) {
      return;
    }
    this.isBusy = true;
    this.postBusy();
    try {
      const made = await make();
      if (made !== undefined && !this.isOver) {
        this.isBusy = false;
        show(made);
        // The user may type elsewhere meanwhile, such as in the palette, which would close.
        this.panel.reveal(undefined, true);
      }
    } finally {
      this.isBusy = false;
      this.postBusy();
    }
  }

  /** For a page that is made again while its content is. */
  protected postBusy(): void {
    this.post({ kind: "busy", isOn: this.isBusy });
  }

  protected async copy(text: string, sentence: string): Promise<void> {
    await vscode.env.clipboard.writeText(text);
    this.post({ kind: "announcement", sentence });
  }

  /** Asks where to save, lets `write` do it, and tells that it was done. */
  protected async saveAs(
    { title, file, filters }: SaveDialog,
    write: (path: string) => Promise<unknown>,
  ): Promise<void> {
    const uri = await vscode.window.showSaveDialog({
      title,
      defaultUri: vscode.Uri.file(join(workspaceFolder() || homedir(), file)),
      filters,
    });
    if (uri !== undefined) {
      await write(uri.fsPath);
      const name = plain(basename(uri.fsPath));
      this.post({ kind: "announcement", sentence: vscode.l10n.t("Saved as {0}.", name) });
    }
  }
}

interface SaveDialog {
  readonly title: string;
  /** The proposed name, in the folder of the workspace. */
  readonly file: string;
  readonly filters: Record<string, string[]>;
}

/** The open tabs of one type by what they show, so that the same is shown once. */
export class PageTabs<Tab extends PageTab<never, unknown>> {
  private readonly tabs = new Map<string, Tab>();

  constructor(private readonly type: Verbatim) {}

  get(key: string): Tab | undefined {
    return this.tabs.get(key);
  }

  panel(title: string): vscode.WebviewPanel {
    return vscode.window.createWebviewPanel(this.type, title, vscode.ViewColumn.Active, {
      enableFindWidget: true,
    });
  }

  /** `tab` is open until its panel is closed. */
  add(key: string, panel: vscode.WebviewPanel, tab: Tab): void {
    this.tabs.set(key, tab);
    panel.onDidDispose(() => {
      this.tabs.delete(key);
    });
  }
}

/** Tabs whose pages store what they show, so that a reload of the window restores it. */
export abstract class RestoredTabs<
  Shown extends object,
  Tab extends PageTab<never, unknown> & { fill(shown: Shown): void },
> extends PageTabs<Tab> {
  constructor(
    protected readonly app: App,
    type: Verbatim,
  ) {
    super(type);
  }

  /** An open tab with the same key shows the new content. */
  show(shown: Shown): void {
    const present = this.get(this.keyOf(shown));
    if (present === undefined) {
      this.open(this.panel(this.titleOf(shown)), shown);
    } else {
      present.fill(shown);
      present.focus();
    }
  }

  /** A tab that was open before the window was reloaded, with what its page has stored if that was of this version. */
  revive(panel: vscode.WebviewPanel, state: unknown): void {
    const { stored } = (state ?? {}) as { stored?: Stored<Shown> };
    if (stored?.version === versionOf(this.app)) {
      this.open(panel, stored);
    } else {
      panel.dispose();
    }
  }

  protected abstract keyOf(shown: Shown): string;
  protected abstract titleOf(shown: Shown): string;
  protected abstract tab(panel: vscode.WebviewPanel, shown: Shown): Tab;

  private open(panel: vscode.WebviewPanel, shown: Shown): void {
    this.add(this.keyOf(shown), panel, this.tab(panel, shown));
  }
}

/** The version of the extension. */
export function versionOf({ context }: App): string {
  return (context.extension.packageJSON as { version: string }).version;
}
