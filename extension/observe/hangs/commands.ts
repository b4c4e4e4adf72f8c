/** The commands about pictures of hangs; read when the first of them is called. */

import { basename } from "node:path";

import * as vscode from "vscode";

import type { App } from "../../app";
import { plain } from "../../common/texts";
import { longWork } from "../../dialogs";
import type { Row } from "../../rows";
import { runName } from "../../runs/worker_names";
import { pickOrType, type PickRow } from "../../typed_picker";
import { connected } from "./connect_first";
import { pickedStacks } from "./given_stacks";
import {
  OF_GROUP,
  OF_STACKS,
  OPEN,
  PICTURE,
  PROCESSES,
  type CandidateProcess,
  type PictureTarget,
} from "./messages";
import { PicturePanels, selectPicture, type NamedPicture } from "./picture_panel";
import {
  processRows,
  targetOf,
  targetsOf,
  understoodPids,
  type NamedTarget,
} from "./targets_model";

export class StuckCommands {
  private readonly panels: PicturePanels;

  constructor(private readonly app: App) {
    this.panels = new PicturePanels(app, (target, name) =>
      app.errors.shown("sampling stacks", () => this.taken(target, name)),
    );
  }

  /** Samples what the row is about; without a row the only target that there is, or the one that the user picks. */
  async whyStuck(rows: readonly Row[]): Promise<void> {
    const clusters = this.app.clusters.value;
    const chosen =
      targetOf(rows, clusters) ??
      (await picked(this.app, targetsOf(clusters, await this.app.latestRuns())));
    const named = chosen === undefined ? undefined : await connected(chosen);
    if (named !== undefined) {
      this.panels.show(await this.taken(named.target, named.name));
    }
  }

  /** Opens the last picture of the row’s run, or of its paused workers; without a row the user selects a file. */
  async openPicture(rows: readonly Row[]): Promise<void> {
    const [first] = rows;
    if (first?.row === "sentence") {
      const { cluster, title, post_mortem } = first.group;
      const picture = await this.app.sidecar.request(OF_GROUP, { cluster, title, post_mortem });
      const named = targetOf([first.group], this.app.clusters.value);
      const target = named !== undefined && "target" in named ? named.target : undefined;
      this.panels.show({ name: named?.name ?? plain(title), picture, target });
      return;
    }
    const [run] = rows.flatMap((row) => (row.row === "run" ? [row.run] : []));
    const path = run?.picture?.path ?? (await selectPicture(vscode.l10n.t("Open a Saved Picture")));
    if (path !== undefined) {
      const picture = await this.app.sidecar.request(OPEN, { path });
      const name = run === undefined ? basename(path) : runName(run);
      this.panels.show({ name, picture, target: undefined });
    }
  }

  /** Judges stacks that others have dumped. */
  async openStacks(): Promise<void> {
    const given = await pickedStacks();
    if (given === undefined) {
      return;
    }
    const { name, paths, text } = given;
    const title = vscode.l10n.t("Reading the stacks of {0}", plain(name));
    const { picture, unread } = await longWork(title, (options) =>
      this.app.sidecar.request(OF_STACKS, { paths, text }, options),
    );
    this.panels.show({ name, picture, target: undefined });
    const [first] = unread;
    if (first !== undefined) {
      const more = unread.length - 1;
      const why = plain(`${basename(first.name)}: ${first.reason}`, 200);
      void vscode.window.showWarningMessage(
        more === 0
          ? vscode.l10n.t("One file could not be read. {0}", why)
          : vscode.l10n.t("{0} files could not be read. {1}", unread.length, why),
      );
    }
  }

  revive(panel: vscode.WebviewPanel, state: unknown): void {
    this.panels.revive(panel, state);
  }

  private async taken(target: PictureTarget, name: string): Promise<NamedPicture> {
    const title = vscode.l10n.t("Sampling the stacks of {0}", plain(name));
    const picture = await longWork(title, (options) =>
      this.app.sidecar.request(PICTURE, target, options),
    );
    return { name, picture, target };
  }
}

/** The only target, or the one that the user picks: one of these, or processes of this machine. */
async function picked(app: App, targets: readonly NamedTarget[]): Promise<NamedTarget | undefined> {
  const [only] = targets;
  if (only !== undefined && targets.length === 1) {
    return only;
  }
  const rows: readonly PickRow<NamedTarget | typeof PROCESSES_HERE>[] = [
    ...targets.map((named) => ({
      label: named.name,
      description:
        named.target.run_id === undefined ? vscode.l10n.t("cluster") : vscode.l10n.t("run"),
      value: named,
    })),
    {
      label: vscode.l10n.t("Processes of This Machine…"),
      description: "",
      value: PROCESSES_HERE,
      alwaysShow: true,
    },
  ];
  const chosen = await pickOrType<NamedTarget | typeof PROCESSES_HERE>({
    title: vscode.l10n.t("Why is what stuck?"),
    placeholder: vscode.l10n.t("Select, or type PIDs such as 4711 4712"),
    rows: () => rows,
    understood: understoodPids,
  });
  return chosen === PROCESSES_HERE ? await selectedProcess(app) : chosen;
}

/** Leads to the list of processes. */
const PROCESSES_HERE = Symbol("processes");

async function selectedProcess(app: App): Promise<NamedTarget | undefined> {
  let processes: readonly CandidateProcess[] = [];
  return await pickOrType<NamedTarget>({
    title: vscode.l10n.t("Processes of This Machine"),
    placeholder: vscode.l10n.t("Select, or type PIDs such as 4711 4712"),
    rows: () => processRows(processes),
    understood: understoodPids,
    load: async (cancel) => {
      ({ processes } = await app.sidecar.request(PROCESSES, {}, { cancel }));
    },
  });
}
