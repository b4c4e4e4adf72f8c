/** Whether the person sees any view of the panel. */

import type { TreeView } from "vscode";

import { Disposables, type Disposable } from "./common/disposables";
import { Store, type Readable } from "./common/readable";

export class Panel implements Disposable {
  private readonly shown = new Store(false);
  private readonly views: TreeView<unknown>[] = [];
  private readonly owned = new Disposables();

  get visible(): Readable<boolean> {
    return this.shown;
  }

  /** Takes a view of the panel into account. */
  add(view: TreeView<unknown>): void {
    this.views.push(view);
    this.owned.add(
      view.onDidChangeVisibility(() => {
        this.look();
      }),
    );
    this.look();
  }

  dispose(): void {
    this.owned.dispose();
  }

  private look(): void {
    const visible = this.views.some((view) => view.visible);
    if (visible !== this.shown.value) {
      this.shown.set(visible);
    }
  }
}
