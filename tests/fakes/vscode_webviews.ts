/** A page in the editor, as unit tests see it: records what it is sent, says what the test says. */

import { EventEmitter, Uri } from "./vscode_values";

class FakeWebview {
  options: object = {};
  html = "";
  readonly cspSource = "https://source";
  readonly posted: unknown[] = [];
  private readonly received = new EventEmitter<unknown>();
  readonly onDidReceiveMessage = this.received.event;
  asWebviewUri(uri: Uri): Uri {
    return uri;
  }
  postMessage(message: unknown): Promise<boolean> {
    this.posted.push(message);
    return Promise.resolve(true);
  }
  /** As the page’s script does. */
  says(message: unknown): void {
    this.received.fire(message);
  }
}

export class FakeWebviewPanel {
  readonly webview = new FakeWebview();
  private readonly disposed = new EventEmitter<undefined>();
  readonly onDidDispose = this.disposed.event;
  isClosed = false;
  revealed = 0;
  /** The items of `revealed` that took the focus. */
  focused = 0;
  constructor(
    readonly type = "",
    public title = "",
  ) {}
  reveal(_column?: unknown, preserveFocus = false): void {
    this.revealed += 1;
    this.focused += preserveFocus ? 0 : 1;
  }
  dispose(): void {
    this.close();
  }
  close(): void {
    this.isClosed = true;
    this.disposed.fire(undefined);
  }
}

/** A watcher of files; a test fires its events. */
export class FakeWatcher {
  readonly changed = new EventEmitter<Uri>();
  readonly onDidChange = this.changed.event;
  readonly onDidCreate = this.changed.event;
  readonly onDidDelete = this.changed.event;
  disposed = false;
  dispose(): void {
    this.disposed = true;
  }
}

export interface FakeEditorProvider {
  resolveCustomEditor(document: { readonly uri: Uri }, panel: FakeWebviewPanel): Promise<void>;
}
