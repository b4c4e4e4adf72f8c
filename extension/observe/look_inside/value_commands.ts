/** *View Value*: opens the page of a value of a stopped or looked-into worker. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { EaglerayError } from "../../common/errors";
import { DEBUG_TYPE, INSPECTION_TYPE } from "../../contributions";
import { ValueTabs } from "./value_panel";
import { frameOf, type ValueStops } from "./value_sessions";
import { expressionAt } from "./value_expressions";

/** The argument of a menu of a variable. */
interface VariableArgument {
  readonly variable?: { readonly name: string; readonly evaluateName?: string };
  readonly sessionId?: string;
}

export class ValueCommands {
  private readonly tabs: ValueTabs;

  constructor(app: App, stops: ValueStops) {
    this.tabs = new ValueTabs(app, stops);
  }

  /**
   * The expression comes from
   *
   * 1. the row of a variable,
   * 2. the selection or the name at the cursor, from the menu of an editor,
   * 3. an input box.
   */
  async view(args: readonly unknown[]): Promise<void> {
    const item = vscode.debug.activeStackItem;
    if (item === undefined || !isOurs(item.session)) {
      throw notStopped();
    }
    const [argument] = args;
    const { variable } = (argument ?? {}) as VariableArgument;
    const expression = variable
      ? (variable.evaluateName ?? "")
      : argument instanceof vscode.Uri
        ? expressionInEditor()
        : await typedExpression();
    if (expression === undefined) {
      return;
    }
    if (expression.trim() === "") {
      throw new EaglerayError(
        "no-expression",
        vscode.l10n.t("This row has no expression."),
        vscode.l10n.t("Select a variable."),
      );
    }
    const id = "frameId" in item ? item.frameId : undefined;
    const frame = await frameOf(item.session, item.threadId, id === undefined ? {} : { id });
    if (frame === undefined) {
      throw notStopped();
    }
    await this.tabs.show({ session: item.session, expression: expression.trim(), frame });
  }
}

function isOurs({ type }: vscode.DebugSession): boolean {
  return type === DEBUG_TYPE || type === INSPECTION_TYPE;
}

function expressionInEditor(): string {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) {
    return "";
  }
  const { document, selection } = editor;
  const selected = document.getText(selection);
  return selected === ""
    ? expressionAt(document.lineAt(selection.active.line).text, selection.active.character)
    : selected;
}

async function typedExpression(): Promise<string | undefined> {
  return await vscode.window.showInputBox({
    title: vscode.l10n.t("View Value"),
    prompt: vscode.l10n.t("A variable or an expression, such as batch['ids'][0]"),
    value: expressionInEditor(),
  });
}

function notStopped(): EaglerayError {
  return new EaglerayError(
    "not-stopped",
    vscode.l10n.t("No frame of a worker is selected."),
    vscode.l10n.t("Select one in the call stack of a paused worker."),
  );
}
