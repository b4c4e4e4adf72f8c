// A report in a workspace that isn't trusted: nsys reads it only after the user agrees.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { register } from "../../../extension/profile/reports";
import { REPORT } from "../../../extension/profile/reports/messages";
import type { ToReportPage } from "../../../extension/profile/reports/page_messages";
import { fakeApp, settled, type FakeApp } from "../../fakes/app";
import { editor, FakeWebviewPanel, Uri } from "../../fakes/vscode";
import { report } from "../recordings/samples";

let fake: FakeApp;
let registered: readonly { dispose(): unknown }[] = [];

beforeEach(() => {
  editor.reset();
  editor.trusted = false;
  fake = fakeApp();
  fake.sidecar.on(REPORT, () => report());
  registered = register(fake.app);
});

afterEach(() => {
  for (const one of registered) {
    one.dispose();
  }
});

async function opened(path: string, kind = "eagleray.nsysReport"): Promise<FakeWebviewPanel> {
  const panel = new FakeWebviewPanel();
  await editor.editors.get(kind)?.resolveCustomEditor({ uri: Uri.file(path) }, panel);
  panel.webview.says({ kind: "ready" });
  await settled();
  return panel;
}

function last(panel: FakeWebviewPanel): ToReportPage | undefined {
  return panel.webview.posted.at(-1) as ToReportPage | undefined;
}

test("nsys reads nothing until the user agrees, once for each page", async () => {
  let asked = 0;
  editor.answer = ({ text, options }) => {
    asked += 1;
    assert.equal(text, "Open policy.nsys-rep with nsys?");
    assert.equal(options["modal"], true);
    assert.deepEqual(fake.sidecar.sentTo(REPORT), []);
    return "Open Report";
  };
  const panel = await opened("/w/policy.nsys-rep");
  assert.equal(last(panel)?.kind, "report");
  panel.webview.says({ kind: "again" });
  await settled();
  assert.deepEqual([asked, fake.sidecar.sentTo(REPORT).length], [1, 2]);
});

test("a report that the user doesn't open says why, and asks again only on request", async () => {
  const panel = await opened("/w/policy.nsys-rep");
  const page = last(panel);
  assert.match(page?.kind === "failed" ? page.message : "", /isn't trusted/);
  panel.webview.says({ kind: "ready" });
  await settled();
  assert.equal(editor.asked.length, 1);
  panel.webview.says({ kind: "again" });
  await settled();
  assert.equal(editor.asked.length, 2);
  assert.deepEqual(fake.sidecar.sentTo(REPORT), []);
});

test("a report that wasn't opened is, once the workspace is trusted", async () => {
  const panel = await opened("/w/policy.nsys-rep");
  editor.trusted = true;
  editor.trustGranted.fire(undefined);
  await settled();
  assert.deepEqual([last(panel)?.kind, editor.asked.length], ["report", 1]);
});

test("a database is read without a question, since nsys isn't started", async () => {
  const panel = await opened("/w/policy.sqlite", "eagleray.nsysDatabase");
  assert.deepEqual([last(panel)?.kind, editor.asked], ["report", []]);
});

test("a trusted workspace needs no consent", async () => {
  editor.trusted = true;
  const panel = await opened("/w/policy.nsys-rep");
  assert.deepEqual([last(panel)?.kind, editor.asked], ["report", []]);
});
