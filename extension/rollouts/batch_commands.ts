/** “Save Batch…” and “Replay Batch…”; read when the first of them is called. */

import { basename, dirname, join } from "node:path";

import * as vscode from "vscode";

import type { App } from "../app";
import { EaglerayError } from "../common/errors";
import { plain, type Verbatim } from "../common/texts";
import type { TextDocuments } from "../text_documents";
import { isConfirmed, longWork } from "../dialogs";
import { workspaceFolder } from "../workspace";
import { emptyDraft } from "../runs/draft";
import { programPython } from "../runs/interpreters";
import type { RunStarter } from "../runs/run_starter";
import { askForPath } from "../typed_paths";
import { batchText } from "./batch_text";
import {
  BATCH,
  REPLAY,
  SAVE_BATCH,
  type DescribedBatch,
  type ReplayCommand,
  type ReplayRequest,
} from "./messages";

const AREAL: Verbatim = "AReaL";
const VERL: Verbatim = "verl";
const EXAMPLE: Verbatim = "python -m verl.trainer.main_ppo …";
const LAST_COMMAND = "eagleray.trainingCommand";

export class BatchCommands {
  constructor(
    private readonly app: App,
    private readonly starting: () => Promise<RunStarter>,
    private readonly documents: TextDocuments,
  ) {}

  /** The dump of the page or of the explorer, or one that the user selects. */
  async save(argument: unknown): Promise<void> {
    const title = vscode.l10n.t("Select a Dump of Trajectories");
    const dump = fileOf(argument) ?? (await selected(title));
    if (dump === undefined) {
      return;
    }
    const target = await vscode.window.showSaveDialog({
      title: vscode.l10n.t("Save Trajectories as a Batch"),
      defaultUri: vscode.Uri.file(`${dump.replace(/\.(jsonl|ndjson)$/, "")}.pt`),
      filters: batchFiles(),
    });
    if (target === undefined) {
      return;
    }
    const batch = target.fsPath;
    const python = await this.python();
    const written = await longWork(vscode.l10n.t("Saving {0}", plain(basename(batch))), (options) =>
      this.app.sidecar.request(SAVE_BATCH, { path: dump, batch, python }, options),
    );
    await this.showSummary(batch, await this.read(batch, python, false));
    const sentence =
      written.skipped === 0
        ? vscode.l10n.t("Saved {0} trajectories.", written.rows)
        : vscode.l10n.t(
            "Saved {0} trajectories. {1} have no token ids or reward.",
            written.rows,
            written.skipped,
          );
    const replay = vscode.l10n.t("Replay…");
    if ((await vscode.window.showInformationMessage(sentence, replay)) === replay) {
      await this.replay(target);
    }
  }

  /** Shows what is in a batch, generates what trains on it, and starts that. */
  async replay(argument: unknown): Promise<void> {
    const given = fileOf(argument);
    const isVerl = given === undefined ? await this.asksForVerl() : false;
    if (isVerl === undefined) {
      return;
    }
    const replayed = isVerl ? await this.verl() : await this.areal(given);
    if (replayed !== undefined) {
      await this.start(replayed);
    }
  }

  private async asksForVerl(): Promise<boolean | undefined> {
    const items = [
      {
        label: AREAL,
        description: vscode.l10n.t("a script that trains on a saved batch"),
        isVerl: false,
      },
      {
        label: VERL,
        description: vscode.l10n.t("a first run saves its rollouts, later runs use them"),
        isVerl: true,
      },
    ];
    const title = vscode.l10n.t("Train on a Saved Batch");
    return (await vscode.window.showQuickPick(items, { title }))?.isVerl;
  }

  private async areal(given: string | undefined): Promise<ReplayCommand | undefined> {
    const title = vscode.l10n.t("Select a Saved Batch");
    const batch = given ?? (await selected(title, batchFiles()));
    if (batch === undefined) {
      return undefined;
    }
    const read = await this.readSafely(batch, await this.python());
    if (read === undefined) {
      return undefined;
    }
    await this.showSummary(batch, read);
    const config = await selected(vscode.l10n.t("Select the Configuration of the Training"), {
      YAML: ["yaml", "yml"],
    });
    if (config === undefined) {
      return undefined;
    }
    const script = join(workspaceFolder() || dirname(batch), "replay.py");
    const unpickle = read.summary.loaded !== "weights_only";
    const replayed = await this.generated({ framework: "areal", batch, script, config, unpickle });
    if (replayed !== undefined) {
      const document = await vscode.workspace.openTextDocument(vscode.Uri.file(script));
      await vscode.window.showTextDocument(document, { preview: false });
    }
    return replayed;
  }

  private async verl(): Promise<ReplayCommand | undefined> {
    const folder = await askForPath({
      title: vscode.l10n.t("Select the Folder for the Rollouts"),
      kind: "folder",
    });
    if (folder === undefined) {
      return undefined;
    }
    const command = await vscode.window.showInputBox({
      title: vscode.l10n.t("Enter the command of the training"),
      value: this.app.context.workspaceState.get<string>(LAST_COMMAND) ?? "",
      placeHolder: EXAMPLE,
      ignoreFocusOut: true,
    });
    if (command === undefined || command.trim() === "") {
      return undefined;
    }
    await this.app.context.workspaceState.update(LAST_COMMAND, command);
    return await this.app.sidecar.request(REPLAY, {
      framework: "verl",
      batch: folder,
      command,
      cwd: workspaceFolder(),
    });
  }

  /** A script that the user may have edited is replaced only after a question. */
  private async generated(request: ReplayRequest): Promise<ReplayCommand | undefined> {
    try {
      return await this.app.sidecar.request(REPLAY, request);
    } catch (error) {
      if (!(error instanceof EaglerayError) || error.code !== "script-exists") {
        throw error;
      }
      const name = basename(request.script ?? "");
      const question = vscode.l10n.t("Replace {0}?", name);
      const replace = vscode.l10n.t("Replace");
      return (await isConfirmed(question, request.script ?? "", replace))
        ? await this.app.sidecar.request(REPLAY, { ...request, replace: true })
        : undefined;
    }
  }

  /** A file that would execute code is loaded only if the user agrees to what it names. */
  private async readSafely(batch: string, python: string): Promise<DescribedBatch | undefined> {
    try {
      return await this.read(batch, python, false);
    } catch (error) {
      if (!(error instanceof EaglerayError) || error.code !== "needs-unpickle") {
        throw error;
      }
      const execute = vscode.l10n.t("Execute and Load");
      const { message, nextStep } = error;
      return (await isConfirmed(message, nextStep, execute))
        ? await this.read(batch, python, true)
        : undefined;
    }
  }

  private async read(path: string, python: string, unpickle: boolean): Promise<DescribedBatch> {
    return await longWork(vscode.l10n.t("Reading {0}", plain(basename(path))), (options) =>
      this.app.sidecar.request(BATCH, { path, python, unpickle }, options),
    );
  }

  private async showSummary(batch: string, read: DescribedBatch): Promise<void> {
    const uri = this.documents.put(`${batch}.txt`, batchText(batch, read));
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri));
  }

  private async start({ argv, script }: ReplayCommand): Promise<void> {
    const debug = vscode.l10n.t("Debug");
    const run = vscode.l10n.t("Run");
    const sentence =
      script === ""
        ? vscode.l10n.t("Start the training on saved rollouts?")
        : vscode.l10n.t("{0} trains on the batch. Start it?", plain(basename(script)));
    const answer = await vscode.window.showInformationMessage(sentence, debug, run);
    if (answer !== undefined) {
      const cwd = workspaceFolder() || dirname(script);
      const draft = { ...emptyDraft(), args: argv, cwd, stops: answer === debug };
      await (await this.starting()).run(draft);
    }
  }

  private async python(): Promise<string> {
    return (await programPython(this.app, { path: "", cwd: workspaceFolder() })).path;
  }
}

function fileOf(argument: unknown): string | undefined {
  return argument instanceof vscode.Uri ? argument.fsPath : undefined;
}

async function selected(
  title: string,
  filters?: Record<string, string[]>,
): Promise<string | undefined> {
  return await askForPath({ title, kind: "file", ...(filters && { filters }) });
}

function batchFiles(): Record<string, string[]> {
  return { [vscode.l10n.t("Saved batches")]: ["pt", "pth"] };
}
