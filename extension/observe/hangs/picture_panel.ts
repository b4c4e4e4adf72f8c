/** The tabs of pictures: each shows one, takes it again, saves it, and compares it with an earlier one. */

import { randomUUID } from "node:crypto";
import { basename } from "node:path";

import * as vscode from "vscode";

import type { App } from "../../app";
import { plain } from "../../common/texts";
import { COMMANDS, PANELS } from "../../contributions";
import { PageTab, RestoredTabs, versionOf, type PageKind } from "../../page/tabs";
import { askForPath } from "../../typed_paths";
import { COMPARE, MARKDOWN, SAVE, type Picture, type PictureTarget } from "./messages";
import type { FromPicturePage, ToPicturePage } from "./page_messages";
import { openSourceLine } from "./source_line";

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

/** An open tab of the same target shows the new picture; one from a file gets its own. */
export class PicturePanels extends RestoredTabs<NamedPicture, PictureTab> {
  constructor(
    app: App,
    private readonly sampleAgain: SampleAgain,
  ) {
    super(app, PANELS.picture);
  }

  protected override keyOf = keyOf;
  protected override titleOf = titleOf;

  protected override tab(panel: vscode.WebviewPanel, named: NamedPicture): PictureTab {
    return new PictureTab(this.app, panel, named, this.sampleAgain);
  }
}

const PAGE: PageKind = { script: "picture_page", doing: "a picture’s page", draws: "picture" };

class PictureTab extends PageTab<FromPicturePage, ToPicturePage> {
  constructor(
    app: App,
    panel: vscode.WebviewPanel,
    private named: NamedPicture,
    private readonly sampleAgain: SampleAgain,
  ) {
    super(app, panel, PAGE, titleOf(named));
  }

  fill(named: NamedPicture): void {
    this.named = named;
    this.panel.title = titleOf(named);
    this.sendPicture();
  }

  protected override async take(message: FromPicturePage): Promise<void> {
    switch (message.kind) {
      case "ready":
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
      canInspect: isInReach(this.app, target),
    });
    this.postBusy();
  }

  /**
   * With `inside` a thread in some of the processes, for two minutes, reads what stacks don't show; with `native` one
   * process of each class is stopped for a moment.
   */
  private async again(
    more: { readonly inside?: boolean; readonly native?: boolean } = {},
  ): Promise<void> {
    const { target, name } = this.named;
    if (target !== undefined) {
      await this.repeat(
        () => this.sampleAgain({ ...target, ...more }, name),
        (named) => {
          this.fill({ ...named, target });
        },
      );
    }
  }

  private async save(): Promise<void> {
    const { picture } = this.named;
    await this.saveAs(
      {
        title: vscode.l10n.t("Save the Picture"),
        file: fileName(picture),
        filters: pictureFiles(),
      },
      (path) => this.app.sidecar.request(SAVE, { path, picture }),
    );
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
    await this.copy(text, vscode.l10n.t("Copied as Markdown."));
  }

  private async inspect(group: string, rank: number): Promise<void> {
    const { picture } = this.named;
    const row = picture.ranks.find((each) => each.group === group && each.rank === rank);
    if (row !== undefined && isInReach(this.app, this.named.target)) {
      const { pid, node, role } = row;
      const process = { cluster: this.cluster, group, rank, pid, node, role };
      await vscode.commands.executeCommand(COMMANDS.inspectWorker, process);
    }
  }
}

/** A picture from a file has a tab of its own. */
function keyOf({ target }: NamedPicture): string {
  return target === undefined ? randomUUID() : JSON.stringify(target);
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
  return await askForPath({
    title,
    openLabel: vscode.l10n.t("Open"),
    kind: "file",
    listed: "**/stuck-*.json",
    filters: pictureFiles(),
  });
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
