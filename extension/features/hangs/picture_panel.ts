/** The tabs of pictures: each shows one, takes it again, saves it, and compares it with an earlier one. */

import { homedir } from "node:os";
import { basename, join } from "node:path";

import * as vscode from "vscode";

import type { App } from "../../app";
import { Disposables } from "../../common/disposables";
import { plain } from "../../common/texts";
import { PANELS } from "../../contributions";
import { drawPage } from "../../page_document";
import { workspaceFolder } from "../../workspace";
import { COMPARE, MARKDOWN, SAVE, type Picture, type PictureTarget } from "./messages";
import type { FromPicturePage, StoredPicture, ToPicturePage } from "./page_messages";
import { pictureTexts } from "./picture_texts";
import { openSourceLine } from "./source_line";

/** Built by the feature that looks inside of processes; without it the page has no such button. */
const INSPECT = "eagleray.lookInside";

/** The editor writes what a page keeps to the disk, each time the user scrolls. */
const MOST_STORED = 1000;

/** A picture with the name of what it is of; `target` is undefined for one from a file. */
export interface NamedPicture {
  readonly name: string;
  readonly picture: Picture;
  readonly target: PictureTarget | undefined;
}

/** Takes the picture of a target again; undefined if that was cancelled or has failed, which was shown. */
export type SampleAgain = (
  target: PictureTarget,
  name: string,
) => Promise<NamedPicture | undefined>;

export class PicturePanels {
  private readonly open = new Map<string, PicturePanel>();

  constructor(
    private readonly app: App,
    private readonly sampleAgain: SampleAgain,
  ) {}

  /** An open tab of the same target shows the new picture; one from a file gets its own. */
  async show(named: NamedPicture): Promise<void> {
    const key = named.target === undefined ? undefined : JSON.stringify(named.target);
    const present = key === undefined ? undefined : this.open.get(key);
    if (present !== undefined) {
      present.fill(named);
      present.focus();
      return;
    }
    const canInspect = await this.canInspect(named);
    const panel = vscode.window.createWebviewPanel(
      PANELS.picture,
      titleOf(named),
      vscode.ViewColumn.Active,
      { enableFindWidget: true },
    );
    this.add(panel, named, canInspect);
  }

  /** A tab that was open before the window was reloaded, with the picture that its page has stored. */
  async revive(panel: vscode.WebviewPanel, state: unknown): Promise<void> {
    const stored = (state as { stored?: Partial<StoredPicture> } | undefined)?.stored;
    const { name, picture, target } = stored ?? {};
    if (name === undefined || picture === undefined || stored?.version !== versionOf(this.app)) {
      panel.dispose();
      return;
    }
    const named = { name, picture, target };
    this.add(panel, named, await this.canInspect(named));
  }

  private async canInspect({ target }: NamedPicture): Promise<boolean> {
    const commands = await vscode.commands.getCommands(true);
    return commands.includes(INSPECT) && isInReach(this.app, target);
  }

  private add(panel: vscode.WebviewPanel, named: NamedPicture, canInspect: boolean): void {
    const key = named.target === undefined ? undefined : JSON.stringify(named.target);
    const page = new PicturePanel(this.app, panel, named, canInspect, this.sampleAgain);
    if (key !== undefined) {
      this.open.set(key, page);
    }
    panel.onDidDispose(() => {
      page.dispose();
      if (key !== undefined) {
        this.open.delete(key);
      }
    });
  }
}

class PicturePanel implements vscode.Disposable {
  private readonly owned = new Disposables();
  private isOver = false;
  private isSampling = false;

  constructor(
    private readonly app: App,
    private readonly panel: vscode.WebviewPanel,
    private named: NamedPicture,
    private readonly canInspect: boolean,
    private readonly sampleAgain: SampleAgain,
  ) {
    this.owned.add(
      panel.webview.onDidReceiveMessage((message: FromPicturePage) => {
        void app.errors.shown("a picture’s page", () => this.take(message));
      }),
    );
    drawPage(panel.webview, app.context, "picture_page", titleOf(named));
  }

  /** Brings the tab to the front, as a command does that the user has just run. */
  focus(): void {
    this.panel.reveal();
  }

  fill(named: NamedPicture): void {
    this.named = named;
    this.panel.title = titleOf(named);
    this.sendPicture();
  }

  dispose(): void {
    this.isOver = true;
    this.owned.dispose();
  }

  private async take(message: FromPicturePage): Promise<void> {
    switch (message.kind) {
      case "ready":
        this.post({ kind: "texts", texts: pictureTexts() });
        this.sendPicture();
        break;
      case "again":
        await this.again();
        break;
      case "readInside":
        await this.again({ inside: true });
        break;
      case "readNative":
        await this.again({ native: true });
        break;
      case "save":
        await this.save();
        break;
      case "compare":
        await this.compare();
        break;
      case "copyMarkdown":
        await this.copyMarkdown();
        break;
      case "open":
        await openSourceLine(this.app, this.cluster, message.path, message.line);
        break;
      case "inspect":
        await this.inspect(message.group, message.rank);
        break;
    }
  }

  /** "" for a picture that isn't of a cluster. */
  private get cluster(): string {
    const { target } = this.named;
    const run = this.app.runs.value.runs.find(({ id }) => id === target?.run_id);
    return target?.cluster ?? run?.cluster ?? "";
  }

  private sendPicture(): void {
    const { picture, target, name } = this.named;
    const isSmall = picture.ranks.length <= MOST_STORED;
    this.post({
      kind: "picture",
      stored: isSmall ? { version: versionOf(this.app), name, target } : undefined,
      picture,
      from: fromText(this.named),
      canSampleAgain: target !== undefined,
      canReadInside: target !== undefined && picture.inside.length === 0,
      canInspect: this.canInspect,
    });
    this.post({ kind: "sampling", isOn: this.isSampling });
  }

  /**
   * With `inside` a thread in some of the processes, for two minutes, reads what stacks don't show; with `native` one
   * process of each class is stopped for a moment.
   */
  private async again(
    more: { readonly inside?: boolean; readonly native?: boolean } = {},
  ): Promise<void> {
    const { target, name } = this.named;
    if (target === undefined || this.isSampling) {
      return;
    }
    this.showSampling(true);
    try {
      const named = await this.sampleAgain({ ...target, ...more }, name);
      if (named !== undefined && !this.isOver) {
        this.isSampling = false;
        this.fill({ ...named, target });
        // The user may type elsewhere meanwhile, such as in the palette, which would close.
        this.panel.reveal(undefined, true);
      }
    } finally {
      this.showSampling(false);
    }
  }

  private showSampling(isOn: boolean): void {
    this.isSampling = isOn;
    this.post({ kind: "sampling", isOn });
  }

  private async save(): Promise<void> {
    const { picture } = this.named;
    const uri = await vscode.window.showSaveDialog({
      title: vscode.l10n.t("Save the Picture"),
      defaultUri: vscode.Uri.file(join(workspaceFolder() || homedir(), fileName(picture))),
      filters: pictureFiles(),
    });
    if (uri !== undefined) {
      await this.app.sidecar.request(SAVE, { path: uri.fsPath, picture });
      const name = plain(basename(uri.fsPath));
      this.post({ kind: "announcement", sentence: vscode.l10n.t("Saved as {0}.", name) });
    }
  }

  private async compare(): Promise<void> {
    const path = await selectPicture(vscode.l10n.t("Select the Earlier Picture"));
    if (path !== undefined) {
      const { picture } = this.named;
      const { sentences } = await this.app.sidecar.request(COMPARE, { path, picture });
      this.post({ kind: "changes", title: plain(basename(path)), sentences });
    }
  }

  private async copyMarkdown(): Promise<void> {
    const { text } = await this.app.sidecar.request(MARKDOWN, this.named.picture);
    await vscode.env.clipboard.writeText(text);
    this.post({ kind: "announcement", sentence: vscode.l10n.t("Copied as Markdown.") });
  }

  private async inspect(group: string, rank: number): Promise<void> {
    const { picture } = this.named;
    const row = picture.ranks.find((each) => each.group === group && each.rank === rank);
    if (row !== undefined && this.canInspect) {
      const { pid, node, role } = row;
      const process = { cluster: this.cluster, group, rank, pid, node, role };
      await vscode.commands.executeCommand(INSPECT, process);
    }
  }

  /** Messages for a page that was closed are dropped. */
  private post(message: ToPicturePage): void {
    if (!this.isOver) {
      void this.panel.webview.postMessage(message);
    }
  }
}

/** Another version may read other fields. */
function versionOf({ context }: App): string {
  return (context.extension.packageJSON as { version: string }).version;
}

/** Whether the processes of a picture are of a cluster, or of this machine: PIDs of other machines mean nothing here. */
function isInReach({ runs }: App, target: PictureTarget | undefined): boolean {
  const run = runs.value.runs.find(({ id }) => id === target?.run_id);
  return run === undefined
    ? target?.cluster !== undefined || target?.pids !== undefined
    : run.cluster !== "" || (run.kind !== "sbatch" && run.kind !== "job");
}

/** The path of a saved picture that the user selects. */
export async function selectPicture(title: string): Promise<string | undefined> {
  const [uri] =
    (await vscode.window.showOpenDialog({
      title,
      openLabel: vscode.l10n.t("Open"),
      canSelectMany: false,
      filters: pictureFiles(),
    })) ?? [];
  return uri?.fsPath;
}

function pictureFiles(): Record<string, string[]> {
  return { [vscode.l10n.t("Pictures of stacks")]: ["json"] };
}

function titleOf({ name }: NamedPicture): string {
  return vscode.l10n.t("Stuck? {0}", plain(name, 60));
}

/** "local (8265) · 2026-11-21 20:15:03". */
function fromText({ name, picture }: NamedPicture): string {
  return `${plain(name)} · ${localTime(picture)}`;
}

/** "stuck-2026-11-21-20-15-03.json". */
function fileName(picture: Picture): string {
  return `stuck-${localTime(picture).replaceAll(/[ :]/g, "-")}.json`;
}

/** Without the letters of ISO 8601; a file may have any number as its time. */
function localTime({ taken_at }: Picture): string {
  const time = new Date(taken_at * 1000);
  const shifted = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return Number.isNaN(shifted.getTime())
    ? "–"
    : shifted.toISOString().slice(0, 19).replace("T", " ");
}
