/** How the commands of a feature are registered: what they do is read when the first of them is called. */

import * as vscode from "vscode";

import type { Disposable } from "./common/disposables";
import type { Row } from "./rows";
import type { CommandId } from "./contributions";
import type { Parts } from "./parts";

type Work<D> = (deeds: D, rows: readonly Row[], args: readonly unknown[]) => Promise<unknown>;

/** Its id, what it is doing in the words of a message, and which of the deeds it is. */
export type Command<D> = readonly [id: CommandId, doing: string, work: Work<D>];

/** A command gets the rows that it is meant for, and all that the editor called it with. */
export function registerCommands<D>(
  { errors, selection }: Parts,
  deeds: () => Promise<D>,
  commands: readonly Command<D>[],
): Disposable[] {
  return commands.map(([id, doing, work]) =>
    vscode.commands.registerCommand(id, (...args: unknown[]) => {
      // Before anything is waited for: the person may select something else meanwhile.
      const rows = selection.of(args);
      return errors.shown(doing, async () => work(await deeds(), rows, args));
    }),
  );
}
