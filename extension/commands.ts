/** Registers commands; the module with their handlers is read when the first of them is called. */

import * as vscode from "vscode";

import type { Disposable } from "./common/disposables";
import { TITLE_COMMANDS, type CommandId } from "./contributions";
import type { App } from "./app";
import { FOCUSED_ROW } from "./panel";
import { type Row } from "./rows";

type Work<H> = (handlers: H, rows: readonly Row[], args: readonly unknown[]) => unknown;

/** Its id, what it does in the words of an error message, and how it calls its handler. */
export type CommandDefinition<H> = readonly [id: CommandId, doing: string, work: Work<H>];

/** A handler gets the rows of the command, and all arguments of the editor. */
export function registerCommands<H>(
  { errors, selection }: App,
  handlers: () => Promise<H>,
  commands: readonly CommandDefinition<H>[],
): Disposable[] {
  return commands.map(([id, doing, work]) =>
    vscode.commands.registerCommand(id, async (...args: unknown[]) => {
      // Before the first await: the user may select something else meanwhile.
      const isKey = args[0] === FOCUSED_ROW;
      const rows = isKey ? await selection.withFocus(toggleFocused) : selection.of(args);
      if (rows === undefined && (isKey || !TITLE_COMMANDS.has(id))) {
        void vscode.window.showInformationMessage(
          vscode.l10n.t("The list has changed. Nothing was done."),
        );
        return undefined;
      }
      if (isKey && rows?.length === 0) {
        // Without a row the command would ask for one, or take the only one that there is.
        return undefined;
      }
      return await errors.shown(
        doing,
        async () => work(await handlers(), rows ?? [], args),
        rows?.[0],
      );
    }),
  );
}

function toggleFocused(): Thenable<unknown> {
  return vscode.commands.executeCommand("list.toggleSelection");
}

/** Makes a value when it is first needed, and keeps it. */
export function lazily<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
