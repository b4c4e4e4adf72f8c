/** A view of rows: draws the texts of a model and keeps the selection. */

import * as vscode from "vscode";

import { Disposables, type Disposable } from "./common/disposables";
import type { RowTexts } from "./common/texts";
import type { Selection } from "./panel";
import type { Row } from "./rows";
import type { ShownRows, TreeModel } from "./shown_rows";

const EXPANSIONS: Readonly<Record<RowTexts["children"], vscode.TreeItemCollapsibleState>> = {
  none: vscode.TreeItemCollapsibleState.None,
  collapsed: vscode.TreeItemCollapsibleState.Collapsed,
  expanded: vscode.TreeItemCollapsibleState.Expanded,
};

/**
 * Draws again only what has changed.  While the editor asks for rows again, commands of their buttons and menus come
 * without the row (microsoft/vscode#144250); below a row that hasn't changed, and on a row of a list that hasn't, they never do.
 *
 * So a row stays the same object for as long as it is listed, and gets its new content.
 */
export class RowTree<R extends Row> implements vscode.TreeDataProvider<R>, Disposable {
  readonly view: vscode.TreeView<R>;
  private readonly owned = new Disposables();
  private readonly changed = this.owned.add(new vscode.EventEmitter<R[] | undefined>());
  readonly onDidChangeTreeData = this.changed.event;
  private model: TreeModel<R> | undefined;
  private rows: ShownRows<R> | undefined;

  /** `read` gives the model when the view is first visible, so that an idle window doesn't read its code. */
  constructor(
    id: string,
    private readonly read: () => Promise<TreeModel<R>>,
    selection: Selection,
  ) {
    this.view = this.owned.add(
      vscode.window.createTreeView(id, { treeDataProvider: this, canSelectMany: true }),
    );
    this.owned.add(
      this.view.onDidChangeSelection((change) => {
        selection.set(change.selection);
      }),
    );
  }

  redraw(): void {
    const changed = this.rows?.changed();
    if (changed?.length !== 0) {
      this.changed.fire(changed);
    }
  }

  /** Redraws every `ms` milliseconds while the view is visible and `grows`, as ages do. */
  redrawEvery(ms: number, grows: () => boolean): void {
    const timer = setInterval(() => {
      if (this.view.visible && grows()) {
        this.redraw();
      }
    }, ms);
    this.owned.add({
      dispose: () => {
        clearInterval(timer);
      },
    });
  }

  getChildren(row?: R): R[] | Promise<R[]> {
    return this.rows === undefined ? this.firstChildren(row) : this.rows.below(row);
  }

  private async firstChildren(row?: R): Promise<R[]> {
    this.model ??= await this.read();
    const { ShownRows } = await import("./shown_rows.js");
    this.rows ??= new ShownRows(this.model);
    return this.rows.below(row);
  }

  getTreeItem(row: R): vscode.TreeItem {
    if (this.model === undefined) {
      throw new Error("A row without its list");
    }
    const texts = this.model.texts(row);
    const item = new vscode.TreeItem(texts.label, EXPANSIONS[texts.children]);
    item.id = texts.id;
    item.description = texts.description;
    item.tooltip = texts.tooltip;
    item.accessibilityInformation = { label: texts.spoken };
    item.contextValue = texts.context;
    const color = texts.color === undefined ? undefined : new vscode.ThemeColor(texts.color);
    item.iconPath = new vscode.ThemeIcon(texts.icon, color);
    const command = this.model.click?.(row);
    if (command !== undefined) {
      item.command = { command, title: "", arguments: [row] };
    }
    return item;
  }

  dispose(): void {
    this.owned.dispose();
  }
}
