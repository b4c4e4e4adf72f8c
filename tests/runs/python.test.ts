// A Python without Ray: what the editor offers before the program starts.
import assert from "node:assert/strict";
import { test } from "node:test";

import { EaglerayError } from "../../extension/common/errors";
import {
  CHANGED,
  LIST,
  PYTHONS,
  RESTART,
  START,
  type Restart,
  type Start,
} from "../../extension/runs/messages";
import { PREPARE } from "../../extension/runs/presets/messages";
import type { FakeApp } from "../fakes/app";
import { registeredForEach, registerRuns } from "../fakes/registered";
import { editor, Uri } from "../fakes/vscode";
import { aRun, FOLDER, proposal } from "./samples";

const CLUSTERS = "/opt/cluster/bin/python";
const USE_CLUSTERS = "Use the Cluster's Python";

let fake: FakeApp;

/** Only the cluster's Python has Ray. */
function checked(python: string | undefined, anyway: boolean | undefined): { id: string } {
  if (python !== CLUSTERS && anyway !== true) {
    throw new EaglerayError("no-ray", "Ray isn't installed in Python 3.11 (python).");
  }
  return { id: "new" };
}

registeredForEach(registerRuns, (made) => {
  fake = made;
  const { sidecar } = fake;
  sidecar.on(LIST, () => ({ runs: [] }));
  sidecar.on(PREPARE, () => proposal());
  sidecar.on(PYTHONS, () => ({ paths: [CLUSTERS] }));
  sidecar.on(START, ({ python, anyway }) => checked(python, anyway));
  sidecar.on(RESTART, ({ python, anyway }) => checked(python, anyway));
  editor.folders = [{ uri: Uri.file(FOLDER), name: "project", index: 0 }];
  editor.inView = { uri: Uri.file(`${FOLDER}/train.py`), languageId: "python" };
});

function last(): Start {
  return fake.sidecar.sentTo(START).at(-1) as Start;
}

test("the message names the Python and offers others; closed, nothing starts", async () => {
  assert.equal(await editor.run("eagleray.debug"), undefined);
  assert.equal(editor.asked.length, 1);
  assert.match(editor.asked[0]?.text ?? "", /Ray isn't installed in Python/);
  const buttons = ["Select Interpreter…", USE_CLUSTERS, "Run Anyway"];
  assert.deepEqual(editor.asked[0]?.buttons, buttons);
  assert.equal(editor.terminals.length, 0);
});

test("the Python of the cluster is used and kept for the workspace", async () => {
  editor.answer = () => USE_CLUSTERS;
  assert.equal(await editor.run("eagleray.debug"), "new");
  assert.equal(last().plan, proposal().plan);
  assert.equal(last().python, CLUSTERS);
  assert.equal(editor.settings["eagleray.runs.python"], CLUSTERS);
});

test("without a workspace, the Python is kept for the folder of the program", async () => {
  editor.folders = [];
  editor.answer = () => USE_CLUSTERS;
  await editor.run("eagleray.debug");
  assert.equal(editor.settings["eagleray.runs.python"], undefined);
  await editor.run("eagleray.debug");
  const prepared = fake.sidecar.sentTo(PREPARE).map((sent) => (sent as { python: string }).python);
  assert.deepEqual([prepared.length, prepared.at(-1)], [2, CLUSTERS]);
  editor.inView = { uri: Uri.file("/elsewhere/train.py"), languageId: "python" };
  await editor.run("eagleray.debug");
  assert.notEqual((fake.sidecar.sentTo(PREPARE).at(-1) as { python: string }).python, CLUSTERS);
});

test("a program that needs no Ray runs anyway, and nothing is kept", async () => {
  editor.answer = () => "Run Anyway";
  assert.equal(await editor.run("eagleray.debug"), "new");
  assert.deepEqual(last(), { plan: proposal().plan, python: "", confirmed: false, anyway: true });
  assert.equal(editor.settings["eagleray.runs.python"], undefined);
});

test("an interpreter that is selected is checked as well", async () => {
  editor.answer = ({ kind, options }) => {
    if (kind === "pick") {
      return (options["items"] as object[]).at(-1);
    }
    if (kind === "open") {
      return [Uri.file("/usr/bin/python3")];
    }
    return answers.shift();
  };
  const answers = ["Select Interpreter…", "Run Anyway"];
  assert.equal(await editor.run("eagleray.debug"), "new");
  const tried = fake.sidecar.sentTo(START).map((one) => (one as Start).python);
  assert.deepEqual(tried, ["", "/usr/bin/python3", "/usr/bin/python3"]);
});

test("a run that is started again asks the same", async () => {
  const run = aRun({ state: "exited", ended: 1 });
  fake.sidecar.on(LIST, () => ({ runs: [run] }));
  fake.sidecar.notify(CHANGED, { runs: [run] });
  editor.answer = () => USE_CLUSTERS;
  assert.equal(await editor.run("eagleray.restartRun", { row: "run", run }), "new");
  const sent = fake.sidecar.sentTo(RESTART) as Restart[];
  assert.deepEqual(
    sent.map(({ python, anyway }) => [python, anyway]),
    [
      ["", false],
      [CLUSTERS, false],
    ],
  );
});
