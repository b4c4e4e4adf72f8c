/**
 * Shows errors of the catalogue, each with a button that opens the log, or for one of ssh what ssh printed, and one that
 * leads to the doctor if the error stems from a machine or a cluster.
 */

import * as vscode from "vscode";

import { asEaglerayError, type EaglerayError, isCancellation, isSshError } from "./common/errors";
import { plain } from "./common/texts";
import { COMMANDS, type CommandId } from "./contributions";
import { showPrinted } from "./dialogs";
import type { Row } from "./rows";

/** A further button of a message. */
export interface Action {
  readonly title: string;
  run(): unknown;
}

const SHOW_LOG = vscode.l10n.t("Show Log");
const SHOW_SSH_LOG = vscode.l10n.t("Show SSH Log");

/** The next step after an error, by its code, whatever the operation. */
const REMEDIES: Readonly<Record<string, readonly Action[]>> = {
  "sidecar-not-started": [command(vscode.l10n.t("Restart"), COMMANDS.restart)],
  "sidecar-silent": [
    command(vscode.l10n.t("Restart"), COMMANDS.restart),
    command(vscode.l10n.t("Select Python…"), COMMANDS.selectPython),
  ],
};

export class ErrorMessages {
  constructor(private readonly log: vscode.LogOutputChannel) {}

  /** Logs `error` and shows its sentence; a cancellation is neither.  Waits for no answer. */
  show(error: unknown, doing: string, ...actions: readonly Action[]): void {
    this.showOf(undefined, error, doing, ...actions);
  }

  /** Runs `work`; what it throws is shown.  For commands, whose callers have no use for an error; `row` is the one of theirs. */
  async shown<T>(doing: string, work: () => Promise<T>, row?: Row): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.showOf(row, error, doing);
      return undefined;
    }
  }

  private showOf(
    row: Row | undefined,
    error: unknown,
    doing: string,
    ...actions: readonly Action[]
  ): void {
    if (isCancellation(error)) {
      return;
    }
    const known = asEaglerayError(error);
    const { code, sentence, detail, output, doctor } = known;
    this.log.error(`${doing}: ${code}: ${sentence} ${detail} ${output}`.trim());
    // The listener of the sidecar's state reports a missing Python once, with a button to choose one.
    if (code !== "no-python") {
      const diagnose = command(
        vscode.l10n.t("Diagnose"),
        COMMANDS.diagnose,
        doctor === "machine" ? doctor : row,
      );
      void this.ask(sentence, [
        ...actions,
        ...(REMEDIES[code] ?? []),
        ...(doctor === "" ? [] : [diagnose]),
        this.logOf(known),
      ]);
    }
  }

  private async ask(sentence: string, actions: readonly Action[]): Promise<void> {
    const titles = actions.map((action) => action.title);
    const answer = await vscode.window.showErrorMessage(plain(sentence, 600), ...titles);
    actions.find((action) => action.title === answer)?.run();
  }

  private logOf({ code, message, output }: EaglerayError): Action {
    return isSshError(code) && output !== ""
      ? { title: SHOW_SSH_LOG, run: () => showPrinted(message, output, this.log) }
      : {
          title: SHOW_LOG,
          run: () => {
            this.log.show();
          },
        };
  }
}

function command(title: string, id: CommandId, ...args: readonly unknown[]): Action {
  return { title, run: () => vscode.commands.executeCommand(id, ...args) };
}
