// The first problem of a live run: the list of problems, the status bar, and one message.
import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";

import { EaglerayError } from "../../extension/common/errors";
import { register } from "../../extension/doctor";
import { DIAGNOSE, FIRST_PROBLEM, type FirstProblem } from "../../extension/doctor/messages";
import { CHANGED, type Run } from "../../extension/runs/messages";
import { settled, type FakeApp } from "../fakes/app";
import { registeredForEach } from "../fakes/registered";
import { editor, Uri } from "../fakes/vscode";
import { aRun, FOLDER } from "../runs/samples";
import { cause, diagnosis, evidence } from "./diagnoses";

const OUTPUT = "/runs/1/output.log";
const OOM = cause({ evidence: [evidence({ path: OUTPUT, line: 12 })] });

let fake: FakeApp;

registeredForEach(register, (made) => {
  fake = made;
  editor.folders = [{ uri: Uri.file(FOLDER), name: "project", index: 0 }];
  fake.sidecar.on(FIRST_PROBLEM, () => ({ cause: OOM }));
});

beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout"] });
});
afterEach(() => {
  mock.timers.reset();
});

async function survived(): Promise<void> {
  mock.timers.tick(10_000);
  await settled();
}

async function list(...runs: Run[]): Promise<void> {
  fake.sidecar.notify(CHANGED, { runs });
  await settled();
  await settled();
}

const live = (more: Partial<Run> = {}): Run => aRun({ started: Date.now() / 1000 + 1, ...more });
const messages = (): string[] => editor.asked.map(({ text }) => text);
const lines = (): number[] =>
  [...editor.diagnostics].flatMap(({ files }) =>
    (files.get(OUTPUT) ?? []).map(({ range }) => range.startLine),
  );
const bar = (): string[] => editor.statusBar.filter(({ shown }) => shown).map(({ text }) => text);

test("a problem of a live run has one message, a place in the status bar, and its line", async () => {
  await list(live());
  await list(live());
  await survived();
  await survived();
  assert.deepEqual(messages(), ["train.py: A GPU ran out of memory: 2.00 GiB needed."]);
  assert.deepEqual(bar(), ["$(pulse) train.py"]);
  assert.deepEqual(lines(), [11]);
  assert.deepEqual(fake.sidecar.sentTo(FIRST_PROBLEM), [
    { id: live().id, reported: [], rule_folders: [FOLDER] },
  ]);
});

test("rules of a workspace that the user doesn’t trust don’t count for a live run", async () => {
  editor.trusted = false;
  await list(live());
  assert.deepEqual(fake.sidecar.sentTo(FIRST_PROBLEM), [{ id: live().id, reported: [] }]);
});

test("“Diagnose” of the message diagnoses that run", async () => {
  editor.answer = () => "Diagnose";
  const run = live();
  await list(run);
  await survived();
  assert.deepEqual(editor.executed.at(-1), {
    command: "eagleray.diagnose",
    args: [{ row: "run", run }],
  });
});

test("an error that no rule explains gives way to a cause that comes later", async () => {
  const sentence = "ValueError: no such layer";
  const unknown = cause({ id: "unknown-error", sentence, evidence: [evidence({ path: OUTPUT })] });
  let found: (answer: FirstProblem) => void = () => undefined;
  const later = new Promise<FirstProblem>((resolve) => (found = resolve));
  fake.sidecar.on(FIRST_PROBLEM, ({ reported = [] }) =>
    reported.length === 0 ? { cause: unknown } : (later as never),
  );
  await list(live());
  await survived();
  assert.deepEqual(messages(), [`train.py: ${sentence}`]);
  assert.deepEqual(lines(), [811]);

  found({ cause: OOM });
  await settled();
  await survived();
  assert.deepEqual(messages().slice(1), ["train.py: A GPU ran out of memory: 2.00 GiB needed."]);
  assert.deepEqual([lines(), bar()], [[11], ["$(pulse) train.py"]]);
});

test("an error that no rule explains stays if no cause comes", async () => {
  const unknown = cause({ id: "unknown-error", evidence: [evidence({ path: OUTPUT, line: 7 })] });
  fake.sidecar.on(FIRST_PROBLEM, ({ reported = [] }) => ({
    cause: reported.length === 0 ? unknown : null,
  }));
  await list(live());
  await list(live());
  await survived();
  assert.deepEqual([messages().length, lines()], [1, [6]]);
});

for (const state of ["failed", "exited", "cancelled", "stopping"] as const) {
  test(`the problem of a run that is ${state} soon after has no message of its own`, async () => {
    await list(live());
    await list(live({ state }));
    await survived();
    assert.deepEqual(messages(), []);
    assert.deepEqual(lines(), [11]);
  });
}

test("the status bar is empty once the run has ended, its line stays until it is removed", async () => {
  await list(live());
  await list(live({ state: "failed", code: 1 }));
  assert.deepEqual([bar(), lines()], [[], [11]]);
  await list();
  assert.deepEqual(lines(), []);
});

test("a line that a diagnosis of the run shows as well is listed once, and stays when its tab is closed", async () => {
  fake.sidecar.on(DIAGNOSE, () => diagnosis({ causes: [OOM] }));
  const run = live();
  await list(run);
  await editor.run("eagleray.diagnose", { row: "run", run }, undefined);
  await settled();
  assert.deepEqual(lines(), [11]);
  editor.panels[0]?.close();
  assert.deepEqual(lines(), [11]);
});

test("a run from before this window has no second message", async () => {
  await list(live({ started: 1000 }));
  await survived();
  assert.deepEqual(messages(), []);
  assert.deepEqual(lines(), [11]);
});

test("a run without a problem, one of another folder, and one that has ended show nothing", async () => {
  fake.sidecar.on(FIRST_PROBLEM, () => ({ cause: null }));
  await list(live(), live({ id: "2", workspace: "/v" }), live({ id: "3", state: "exited" }));
  assert.deepEqual([messages(), bar(), lines()], [[], [], []]);
  assert.deepEqual(fake.sidecar.sentTo(FIRST_PROBLEM), [
    { id: live().id, reported: [], rule_folders: [FOLDER] },
  ]);
});

test("a run whose output can't be followed is followed again with the next list", async () => {
  fake.sidecar.on(FIRST_PROBLEM, () => {
    throw new EaglerayError("sidecar-stopped", "It stopped.", "");
  });
  await list(live());
  fake.sidecar.on(FIRST_PROBLEM, () => ({ cause: OOM }));
  await list(live());
  assert.deepEqual(lines(), [11]);
});
