// Commands of the view Runs with several rows selected: all of them are meant.
import assert from "node:assert/strict";
import { test } from "node:test";

import type { Row } from "../../extension/rows";
import {
  CHANGED,
  COMMAND,
  FORGET,
  LIST,
  PAUSE,
  RESTART,
  STOP,
  type Run,
} from "../../extension/runs/messages";
import { type FakeApp } from "../fakes/app";
import { registeredForEach, registerRuns } from "../fakes/registered";
import { editor } from "../fakes/vscode";
import { aRun, runWorker } from "./samples";

const ENDED = { state: "exited", ended: 1 } as const;
const RUNS: readonly Run[] = [
  aRun({ id: "1", confirm_stop: "Cancel job 5?" }),
  aRun({ id: "2" }),
  aRun({ id: "3", name: "c", ...ENDED }),
  aRun({ id: "4", name: "d", ...ENDED }),
];
const ROWS = RUNS.map((run): Row => ({ row: "run", run }));

let fake: FakeApp;

registeredForEach(registerRuns, (made) => {
  fake = made;
  fake.sidecar.on(LIST, () => ({ runs: RUNS }));
  fake.sidecar.on(COMMAND, ({ id }) => ({ text: `exact ${id}` }));
  fake.sidecar.on(RESTART, ({ id }) => ({ id: `${id} again` }));
  fake.sidecar.notify(CHANGED, { runs: RUNS });
});

function run(command: string, rows: readonly Row[] = ROWS): Promise<unknown> {
  return editor.run(command, rows[0], rows);
}

test("Stop ends live runs, after one question for those that require it", async () => {
  await run("eagleray.stopRun");
  assert.deepEqual(
    [editor.asked[0]?.text, editor.asked[0]?.options["detail"]],
    ["Stop 2 runs?", "Cancel job 5?"],
  );
  assert.deepEqual(fake.sidecar.sentTo(STOP), []);
  editor.answer = () => "Stop";
  await run("eagleray.stopRun");
  assert.deepEqual(fake.sidecar.sentTo(STOP), [
    { id: "1", confirmed: true },
    { id: "2", confirmed: false },
  ]);
});

test("Forget names those that are over before they go", async () => {
  await run("eagleray.removeRun");
  assert.deepEqual(
    [editor.asked[0]?.text, editor.asked[0]?.options["detail"]],
    ["Remove 2 runs and their output?", "c --steps 3\nd --steps 3"],
  );
  editor.answer = () => "Remove";
  await run("eagleray.removeRun");
  assert.deepEqual(fake.sidecar.sentTo(FORGET), [{ id: "3" }, { id: "4" }]);
});

test("a removed run takes its terminal along, and leaves the terminals of others", async () => {
  await run("eagleray.showOutput", ROWS.slice(1, 3));
  const [ofLive, ofEnded] = editor.terminals;
  await run("eagleray.removeRun", ROWS.slice(2, 3));
  assert.deepEqual(fake.sidecar.sentTo(FORGET), [{ id: "3" }]);
  assert.deepEqual([ofLive?.exitStatus, ofEnded?.exitStatus], [undefined, { code: 0 }]);
});

test("a message says that none of several runs can be stopped, and no other run is", async () => {
  await run("eagleray.stopRun", ROWS.slice(2));
  assert.equal(editor.asked[0]?.text, "No run is running.");
  assert.deepEqual(fake.sidecar.sentTo(STOP), []);
});

test("outputs, commands and restarts apply to all", async () => {
  await run("eagleray.showOutput", ROWS.slice(2));
  assert.equal(editor.terminals.length, 2);
  await run("eagleray.copyCommand", ROWS.slice(2));
  assert.equal(editor.clipboard, "exact 3\nexact 4");
  assert.equal(await run("eagleray.restartRun", ROWS.slice(2)), "4 again");
  assert.deepEqual(
    fake.sidecar.sentTo(RESTART).map((one) => (one as { id: string }).id),
    ["3", "4"],
  );
});

test("all workers that are selected are paused", async () => {
  const live = aRun({ id: "1" });
  const rows = ["beef", "cafe"].map((worker_id): Row => {
    return { row: "runWorker", run: live, worker: runWorker({ worker_id }) };
  });
  await run("eagleray.pauseWorker", rows);
  assert.deepEqual(fake.sidecar.sentTo(PAUSE), [
    { run: "1", worker_id: "beef" },
    { run: "1", worker_id: "cafe" },
  ]);
});
