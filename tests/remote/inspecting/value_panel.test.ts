// “View Value”: which value its tab requests, and how it follows the worker from stop to stop.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import type * as vscode from "vscode";

import { ValueCommands } from "../../../extension/observe/look_inside/value_commands";
import type { ToValuePage } from "../../../extension/observe/look_inside/value_messages";
import { ValueStops } from "../../../extension/observe/look_inside/value_sessions";
import { fakeApp, settled } from "../../fakes/app";
import { debug, editor, type FakeWebviewPanel } from "../../fakes/vscode";

type Question = Readonly<Record<string, unknown>>;

let asked: Question[] = [];
let line = 24;
let answer: object = {};
let commands: ValueCommands;
let say: (message: object) => void = () => undefined;

const session = {
  id: "s1",
  type: "eagleray",
  name: "policy-0",
  configuration: {},
  customRequest: (command: string, question: Question): Promise<object> => {
    if (command === "stackTrace") {
      const source = { name: "policy.py" };
      const frame = { name: "train", line, source, presentationHint: "normal" };
      const outer = { id: 8, name: "main", line: 90, source, presentationHint: "normal" };
      return Promise.resolve({ stackFrames: [{ ...frame, id: line }, outer] });
    }
    asked.push(question);
    return Promise.resolve(answer);
  },
};

beforeEach(() => {
  editor.reset();
  asked = [];
  line = 24;
  answer = { type: "float", text: "2.5" };
  const stops = new ValueStops();
  const tracker = stops.createDebugAdapterTracker(session as unknown as vscode.DebugSession);
  say = (message) => tracker.onDidSendMessage?.(message);
  commands = new ValueCommands(fakeApp().app, stops);
  debug.activeStackItem = { session, threadId: 1, frameId: 24 } as never;
});

async function opened(): Promise<FakeWebviewPanel> {
  await commands.view([{ variable: { name: "loss", evaluateName: "loss" } }]);
  const panel = editor.panels.at(-1);
  assert.ok(panel);
  panel.webview.says({ kind: "ready" });
  await settled();
  return panel;
}

function lastShown(panel: FakeWebviewPanel): { place: string; old: string } | undefined {
  const message = (panel.webview.posted as ToValuePage[]).at(-1);
  return message?.kind === "value" ? message.shown : undefined;
}

test("row of a variable opens its value, read in the selected frame", async () => {
  const panel = await opened();
  assert.deepEqual(asked, [{ frameId: 24, expression: "loss" }]);
  assert.equal(lastShown(panel)?.place, "policy.py:24");
  assert.equal(lastShown(panel)?.old, "");
});

test("next stop reads the value again, at its line", async () => {
  const panel = await opened();
  line = 31;
  say({ type: "event", event: "stopped", body: { threadId: 1 } });
  await settled();
  assert.deepEqual(asked.at(-1), { frameId: 31, expression: "loss" });
  assert.equal(lastShown(panel)?.place, "policy.py:31");
});

test("value that isn’t there at the next stop keeps the last one, marked as old", async () => {
  const panel = await opened();
  answer = { error: "NameError: name 'loss' is not defined" };
  say({ type: "event", event: "stopped", body: { threadId: 1 } });
  await settled();
  assert.match(lastShown(panel)?.old ?? "", /NameError/);
});

test("code that ran on request isn’t run again at the next stop", async () => {
  const panel = await opened();
  panel.webview.says({ kind: "force" });
  await settled();
  assert.equal(asked.at(-1)?.["allow_all"], true);
  say({ type: "event", event: "stopped", body: { threadId: 1 } });
  await settled();
  assert.equal(asked.at(-1)?.["allow_all"], undefined);
});

test("another part of the numbers needs no new statistics", async () => {
  const panel = await opened();
  panel.webview.says({ kind: "part", part: { row: 50 }, isImage: false });
  await settled();
  assert.deepEqual(asked.at(-1), {
    ...{ frameId: 24, expression: "loss", row: 50 },
    no_statistics: true,
  });
});

test("several values are open at once, and the same one only once", async () => {
  await opened();
  await commands.view([{ variable: { name: "x", evaluateName: "x" } }]);
  await commands.view([{ variable: { name: "loss", evaluateName: "loss" } }]);
  assert.deepEqual(
    editor.panels.map(({ title }) => title),
    ["loss", "x"],
  );
});

test("session that ends leaves the last value, marked as old", async () => {
  const panel = await opened();
  debug.ended.fire(session);
  assert.match(
    lastShown(panel)?.old ?? "",
    /session has ended. This was the value at policy.py:24/,
  );
});

test("without a stopped worker it says what to select", async () => {
  debug.activeStackItem = undefined;
  await assert.rejects(commands.view([]), /No frame of a worker is selected/);
});
