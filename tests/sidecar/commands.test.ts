// The commands about the extension itself, and the message without a Python.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { noPython, sidecarSilent } from "../../extension/common/errors";
import { sidecarCommands } from "../../extension/sidecar/commands";
import { Store } from "../../extension/common/store";
import type { DebuggedWorker } from "../../extension/debug/attaching/model";
import { statusBar } from "../../extension/status_bar";
import { CHANGED } from "../../extension/debug/workers/messages";
import { fakeApp, settled, type FakeApp } from "../fakes/app";
import { editor, Uri } from "../fakes/vscode";
import { pausedWorker, snapshotOf } from "../debug/workers/samples";

let fake: FakeApp;

let inFront: Store<DebuggedWorker | undefined>;

beforeEach(() => {
  editor.reset();
  fake = fakeApp();
  sidecarCommands(fake.app);
  inFront = new Store<DebuggedWorker | undefined>(undefined);
  statusBar(fake.app, inFront);
});

test("without a Python it is said once, with a button that chooses one and starts with it", async () => {
  editor.answer = ({ kind }) =>
    kind === "error"
      ? "Select Python…"
      : kind === "open"
        ? [Uri.file("/opt/python3.12")]
        : undefined;
  fake.sidecar.state.set("no-python");
  await settled();
  assert.deepEqual(
    editor.asked.map((asked) => [asked.kind, asked.buttons]),
    [
      ["error", ["Select Python…", "Show Log"]],
      ["open", []],
    ],
  );
  assert.equal(editor.settings["eagleray.python"], "/opt/python3.12");
  assert.equal(fake.sidecar.restarts, 1);
});

test("a visible view reports a missing Python, so no message repeats it", async () => {
  const view = { visible: true, onDidChangeVisibility: () => ({ dispose: () => undefined }) };
  fake.app.panel.add(view as unknown as Parameters<typeof fake.app.panel.add>[0]);
  fake.sidecar.state.set("no-python");
  await settled();
  assert.deepEqual(editor.asked, []);
});

test("a request that failed for want of a Python adds no second message", () => {
  fake.app.errors.show(noPython("none"), "refreshing");
  assert.deepEqual(editor.asked, []);
});

test("an error of a start has the buttons that help, and they are commands", async () => {
  editor.answer = ({ buttons }) => buttons[0];
  fake.app.errors.show(sidecarSilent(120, "reading libraries"), "refreshing");
  await settled();
  const [asked] = editor.asked;
  assert.match(asked?.text ?? "", /^Eagleray’s background service did not answer within 120 s\./);
  assert.deepEqual(asked?.buttons, ["Restart", "Select Python…", "Show Log"]);
  assert.equal(editor.executed.at(-1)?.command, "eagleray.restart");
  assert.match(fake.log.text, /sidecar-silent: .*reading libraries/);
});

test("a workspace that becomes trusted is searched again, if it had no Python", () => {
  editor.trustGranted.fire(undefined);
  assert.equal(fake.sidecar.restarts, 0);
  fake.sidecar.state.set("no-python");
  editor.trustGranted.fire(undefined);
  assert.equal(fake.sidecar.restarts, 1);
});

test("the settings that the sidecar starts with start it anew", () => {
  editor.change("eagleray.discovery", "off");
  editor.change("eagleray.autoAttach", "first");
  assert.equal(fake.sidecar.restarts, 1);
  fake.sidecar.state.set("idle");
  editor.change("eagleray.slurm", "off");
  assert.equal(fake.sidecar.restarts, 1);
});

test("the status bar and the context keys follow the sidecar and the list", () => {
  const [item] = editor.statusBar;
  fake.sidecar.notify(CHANGED, snapshotOf([pausedWorker()]));
  assert.deepEqual([item?.text, item?.shown], ["$(debug-pause) 1 paused", true]);
  assert.equal(editor.contextKeys["eagleray.hasPaused"], true);
  assert.equal(item?.command, "eagleray.showPausedWorkers");
  inFront.set({ cluster: "http://c:1", worker: "b", name: "policy-1 (rank 1)" });
  assert.equal(item.text, "$(debug-alt) policy-1 (rank 1) · running · 1 more paused");
  inFront.set(undefined);
  fake.sidecar.notify(CHANGED, snapshotOf([]));
  assert.equal(item.shown, false);
  fake.sidecar.state.set("failed");
  assert.deepEqual([item.shown, item.command], [true, "eagleray.showLog"]);
  assert.equal(editor.contextKeys["eagleray.sidecar"], "failed");
});

test("the log and the panel are one command away", async () => {
  await editor.run("eagleray.showLog");
  await editor.run("eagleray.showPanel");
  assert.equal(fake.log.shown, true);
  assert.deepEqual(
    editor.executed.map((one) => one.command),
    ["eagleray.pausedWorkers.focus"],
  );
});
