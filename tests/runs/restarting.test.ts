// Restart and Rerun Last of runs that are over, that continue, and of unknown state.
import assert from "node:assert/strict";
import { test } from "node:test";

import { CHANGED, LIST, RESTART, STOP, type Run } from "../../extension/runs/messages";
import { settled, type FakeApp } from "../fakes/app";
import { registeredForEach, registerRuns } from "../fakes/registered";
import { debug, editor, SourceBreakpoint, Uri } from "../fakes/vscode";
import { aRun, FOLDER } from "./samples";

let fake: FakeApp;

registeredForEach(registerRuns, (made) => {
  fake = made;
  const { sidecar } = fake;
  sidecar.on(LIST, () => ({ runs: [] }));
  sidecar.on(RESTART, () => ({ id: "newer" }));
});

function list(...runs: Run[]): void {
  fake.sidecar.on(LIST, () => ({ runs }));
  fake.sidecar.notify(CHANGED, { runs });
}

test("a run of a terminal is restarted with the breakpoints that it had", async () => {
  const run = aRun({ workspace: "", state: "exited", ended: 1 });
  list(run);
  const range = { start: { line: 2 } };
  debug.breakpoints = [new SourceBreakpoint({ uri: Uri.file(`${FOLDER}/a.py`), range }, true)];
  await editor.run("eagleray.restartRun", { row: "run", run });
  assert.deepEqual(fake.sidecar.sentTo(RESTART), [
    {
      id: run.id,
      breakpoints: null,
      confirmed: false,
      server_env: null,
      python: "",
      anyway: false,
    },
  ]);
});

test("a run that continues is stopped first, and starts once more when it is over", async () => {
  const run = aRun();
  list(run);
  const restarting = editor.run("eagleray.restartRun", { row: "run", run });
  await settled();
  assert.deepEqual(fake.sidecar.sentTo(STOP), [{ id: run.id, confirmed: false }]);
  assert.deepEqual(fake.sidecar.sentTo(RESTART), []);
  list({ ...run, state: "stopping" });
  await settled();
  assert.deepEqual(fake.sidecar.sentTo(RESTART), []);
  list({ ...run, state: "exited", ended: 1 });
  await restarting;
  assert.equal(fake.sidecar.sentTo(RESTART).length, 1);
});

const LOST = { state: "unwatched", note: "SLURM job 5 may still be running." } as const;

test("an orphaned run may keep running, so the user decides about it", async () => {
  const run = aRun({ ...LOST, confirm_stop: "Cancel job 5?" });
  list(run);
  await editor.run("eagleray.restartRun", { row: "run", run });
  const [asked] = editor.asked;
  assert.deepEqual(asked?.options, { modal: true, detail: `${run.note}\nCancel job 5?` });
  assert.deepEqual(fake.sidecar.sentTo(RESTART), []);
  editor.answer = () => "Start Another";
  await editor.run("eagleray.restartRun", { row: "run", run });
  assert.deepEqual(fake.sidecar.sentTo(STOP), []);
  assert.equal(fake.sidecar.sentTo(RESTART).length, 1);
  editor.answer = () => "Stop and Restart";
  fake.sidecar.on(LIST, () => ({ runs: [aRun({ id: run.id })] }));
  const restarting = editor.run("eagleray.restartRun", { row: "run", run });
  await settled();
  assert.deepEqual(fake.sidecar.sentTo(STOP), [{ id: run.id, confirmed: true }]);
  assert.equal(fake.sidecar.sentTo(RESTART).length, 1);
  list({ ...run, state: "cancelled", ended: 1 });
  await restarting;
  assert.equal(fake.sidecar.sentTo(RESTART).length, 2);
});

for (const state of ["unwatched", "running"] as const) {
  test(`one that was to be stopped and is ${state} again is not started beside itself`, async () => {
    const run = aRun();
    list(run);
    const restarting = editor.run("eagleray.restartRun", { row: "run", run });
    await settled();
    list({ ...run, state: "stopping" });
    list({ ...run, state, note: "Its reports are not here." });
    await restarting;
    assert.equal(
      editor.asked[0]?.text,
      "train.py couldn’t be stopped, so it was not restarted. Its reports are not here.",
    );
    assert.deepEqual(fake.sidecar.sentTo(RESTART), []);
  });
}

test("a batch script is submitted again only after the exact command was agreed to", async () => {
  const run = aRun({ kind: "sbatch", command: "sbatch go.sbatch" });
  list(run);
  await editor.run("eagleray.restartRun", { row: "run", run });
  assert.equal(editor.asked[0]?.options["detail"], "sbatch go.sbatch");
  assert.deepEqual(fake.sidecar.sentTo(RESTART), []);
});
