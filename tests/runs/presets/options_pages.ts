// Pages of run options, with a sidecar that answers them.
import assert from "node:assert/strict";

import { DIAGNOSE } from "../../../extension/doctor/messages";
import {
  CHECK,
  LIST_PRESETS,
  PREPARE,
  type OptionsCheck,
} from "../../../extension/runs/presets/messages";
import type { ToOptionsPage } from "../../../extension/runs/presets/options_messages";
import type { OptionsForm } from "../../../extension/runs/presets/options_model";
import { INTERPRETER, LIST, START } from "../../../extension/runs/messages";
import { diagnosis } from "../../doctor/diagnoses";
import { settled, type FakeApp } from "../../fakes/app";
import { editor, FakeWebviewPanel, Uri } from "../../fakes/vscode";
import { FOLDER, proposal, shortened } from "../samples";

export const FILE = `${FOLDER}/train.py`;

/** A window with one Python file, and answers to all that a page asks. */
export function answerOptions({ sidecar }: FakeApp): void {
  sidecar.on(PREPARE, ({ preset }) => (preset === "none" ? proposal() : shortened()));
  sidecar.on(CHECK, ({ preset }) => checked(preset === "none" ? proposal() : shortened()));
  sidecar.on(START, () => ({ id: "new" }));
  sidecar.on(INTERPRETER, ({ python }) => ({ path: python, version: "3.11.7", ray: "2.60.0" }));
  sidecar.on(LIST, () => ({ runs: [] }));
  // A test on a slow machine takes longer than the pause before the checks.
  sidecar.on(DIAGNOSE, () => diagnosis({ causes: [] }));
  sidecar.on(LIST_PRESETS, () => ({ presets: shortened().presets }));
  editor.settings["eagleray.runs.showOutput"] = false;
  editor.settings["eagleray.runs.python"] = "/usr/bin/python3";
  editor.folders = [{ uri: Uri.file(FOLDER), name: "project", index: 0 }];
  editor.inView = { uri: Uri.file(FILE), languageId: "python" };
}

/** An open page is checked a second later. */
export function closePages(): void {
  for (const panel of editor.panels) {
    panel.close();
  }
}

export function checked(found: OptionsCheck["proposal"]): OptionsCheck {
  return { problems: [], proposal: found, nsys: "", ports: [] };
}

/** A page as its script sees it. */
export class Page {
  private number = 0;

  constructor(readonly panel: FakeWebviewPanel) {}

  get messages(): readonly ToOptionsPage[] {
    return this.panel.webview.posted as ToOptionsPage[];
  }

  last<K extends ToOptionsPage["kind"]>(kind: K): ToOptionsPage & { kind: K } {
    const message = this.messages.findLast((one) => one.kind === kind);
    assert.ok(message, kind);
    return message as ToOptionsPage & { kind: K };
  }

  get form(): OptionsForm {
    return this.last("content").form;
  }

  /** Sends a message with the fields, and waits until the editor has done what it asks for. */
  async send(kind: string, changes: Partial<OptionsForm> = {}): Promise<void> {
    this.number += 1;
    const { length } = this.messages;
    const form = { ...this.form, ...changes };
    this.panel.webview.says({ kind, number: this.number, form });
    const end = DONE[kind] ?? [];
    await until(() =>
      this.messages
        .slice(length)
        .some((one) => (one.kind === "starting" ? !one.isOn : end.includes(one.kind))),
    );
    // It ends with this message, or continues in the same turn.
    await settled();
  }
}

/** The last message of each action. */
const DONE: Readonly<Record<string, readonly ToOptionsPage["kind"][]>> = {
  check: ["checked"],
  edit: ["checked"],
  compose: ["composed", "notComposed"],
  saveLaunch: ["announcement"],
  savePreset: ["facts"],
};

/** Files are read meanwhile; what never comes is missed by the test. */
export async function until(isDone: () => boolean): Promise<void> {
  for (let turns = 0; turns < 50_000 && !isDone(); turns += 1) {
    await settled();
  }
}

/** The page that a command opens. */
export async function opened(command: string, ...args: unknown[]): Promise<Page> {
  await editor.run(command, ...args);
  return await ready();
}

export async function ready(panel = editor.panels.at(-1)): Promise<Page> {
  assert.ok(panel);
  panel.webview.says({ kind: "ready" });
  const page = new Page(panel);
  // Its content is complete with the facts, or it has none.
  await until(() => page.messages.some(({ kind }) => kind === "facts" || kind === "untrusted"));
  return page;
}
