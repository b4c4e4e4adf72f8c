/** The tabs with pages of ours: each has its messages, and ends with its panel. */

import { homedir } from "node:os";
import { basename, join } from "node:path";

import * as vscode from "vscode";

import type { App } from "../app";
import { Disposables } from "../common/disposables";
import { plain, type Verbatim } from "../common/texts";
import { workspaceFolder } from "../workspace";
import { drawPage } from "./document";
import { EXPORT } from "./messages";
import type { ExportRequest, Stored, ToPage } from "./page_messages";

/** `script` is the page's name in `dist`; `doing` names it in the log of an error; a message of the kind `draws` begins the page. */
export interface PageKind {
  readonly script: Verbatim;
  readonly doing: Verbatim;
  readonly draws?: Verbatim;
}

/** A tab whose page sends messages of the kind `From` and gets messages of the kind `To`. */
export abstract class PageTab<From, To extends { kind: string }> implements vscode.Disposable {
  protected readonly owned = new Disposables();
  protected isOver = false;
  private isBusy = false;
  /** The last message of each kind since the page was drawn. */
  private readonly drawn = new Map<string, To | ToPage>();

  constructor(
    protected readonly app: App,
    protected readonly panel: vscode.WebviewPanel,
    private readonly kind: PageKind,
    title: string,
  ) {
    this.owned.add(
      panel.webview.onDidReceiveMessage((message: From | ExportRequest) => {
        void app.errors.shown(kind.doing, () =>
          isExport(message) ? this.export() : this.take(message),
        );
      }),
    );
    panel.onDidDispose(() => {
      this.dispose();
    });
    drawPage(panel.webview, app.context, kind.script, title);
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
      if (message.kind === this.kind.draws) {
        this.drawn.clear();
      }
      if (this.kind.draws !== undefined) {
        this.drawn.set(message.kind, message);
      }
      void this.panel.webview.postMessage(message);
    }
  }

  /** The messages that draw the page again. */
  protected exported(): Promise<readonly (To | ToPage)[]> {
    return Promise.resolve([...this.drawn.values()].filter(({ kind }) => kind !== "announcement"));
  }

  private async export(): Promise<void> {
    const { title } = this.panel;
    const file = `${title.replaceAll(/[^\p{L}\p{N}.]+/gu, "-").replaceAll(/^[-.]+|-$/gu, "")}.html`;
    const filters = { HTML: ["html"] };
    const dialog = { title: vscode.l10n.t("Export as HTML"), file, filters };
    const uri = await this.saveAs(dialog, async (path) => {
      await this.app.sidecar.request(EXPORT, {
        ...{ path, page: this.kind.script, title },
        messages: JSON.stringify(await this.exported()),
        translations: JSON.stringify(vscode.l10n.bundle ?? {}),
      });
    });
    if (uri !== undefined) {
      void offerFile(uri);
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

  /** Asks where to save, lets `write` do it, tells that it was done, and returns the file. */
  protected async saveAs(
    { title, file, filters }: SaveDialog,
    write: (path: string) => Promise<unknown>,
  ): Promise<vscode.Uri | undefined> {
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
    return uri;
  }
}

interface SaveDialog {
  readonly title: string;
  /** The proposed name, in the folder of the workspace. */
  readonly file: string;
  readonly filters: Record<string, string[]>;
}

function isExport(message: unknown): message is ExportRequest {
  return (message as { kind: string }).kind === "export";
}

/** Only the user's own machine can open a file in a browser. */
async function offerFile(uri: vscode.Uri): Promise<void> {
  const open = vscode.l10n.t("Open in Browser");
  const reveal = vscode.l10n.t("Reveal File");
  const picked = await vscode.window.showInformationMessage(
    vscode.l10n.t("Exported as {0}.", plain(basename(uri.fsPath))),
    ...(vscode.env.remoteName === undefined ? [open, reveal] : [reveal]),
  );
  if (picked === open) {
    await vscode.env.openExternal(uri);
  } else if (picked === reveal) {
    await revealFile(uri);
  }
}

/** Shows where the file is: in the file manager, or in the editor’s own tree where that is on another machine. */
export async function revealFile(uri: vscode.Uri): Promise<void> {
  const command = vscode.env.remoteName === undefined ? "revealFileInOS" : "revealInExplorer";
  await vscode.commands.executeCommand(command, uri);
}

/** The open tabs of one type by what they show, so that the same is shown once. */
export class PageTabs<Tab extends PageTab<never, { kind: string }>> {
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
  Tab extends PageTab<never, { kind: string }> & { fill(shown: Shown): void },
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
