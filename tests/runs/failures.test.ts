// The message of the window when a run fails, and where the frames of its traceback lead.
import assert from "node:assert/strict";
import { test } from "node:test";

import { CHANGED, type Run } from "../../extension/runs/messages";
import { PLAIN } from "../../extension/runs/draft";
import { keepRun } from "../../extension/runs/last_options";
import { failureSentence } from "../../extension/runs/failure_messages";
import { pausedText } from "../../extension/runs/run_stops";
import { localFile, TracebackLinks } from "../../extension/runs/traceback_links";
import { DIAGNOSE } from "../../extension/doctor/messages";
import { cause, diagnosis } from "../doctor/diagnoses";
import { settled, type FakeApp } from "../fakes/app";
import { registeredForEach, registerRuns } from "../fakes/registered";
import { editor, Uri } from "../fakes/vscode";
import { aRun, FOLDER, runWorker } from "./samples";

let fake: FakeApp;

registeredForEach(registerRuns, (made) => {
  fake = made;
  editor.folders = [{ uri: Uri.file(FOLDER), name: "project", index: 0 }];
});

async function list(...runs: Run[]): Promise<void> {
  fake.sidecar.notify(CHANGED, { runs });
  await settled();
  await settled();
}

const now = (): number => Date.now() / 1000 + 1;
const NO_RAY = "ModuleNotFoundError: No module named 'ray'";

test("a failed run has one message, which says why", async () => {
  const failed = aRun({ state: "failed", ended: now(), code: 1, reason: NO_RAY });
  await list(aRun());
  await list(failed);
  await list(failed);
  assert.deepEqual(
    editor.asked.map(({ text }) => text),
    [`train.py failed: ${NO_RAY}`],
  );
});

test("the cause that a rule of the doctor names takes the place of the error", async () => {
  fake.sidecar.on(DIAGNOSE, () => diagnosis({ causes: [cause()] }));
  await list(aRun({ state: "failed", ended: now(), code: 1, reason: "RuntimeError: CUDA error" }));
  assert.deepEqual(
    editor.asked.map(({ text }) => text),
    ["train.py failed: A GPU ran out of memory: 2.00 GiB needed."],
  );
});

test("the message names the user’s own line that raised the error", () => {
  const frame = (path: string, line: number): string => `  File "${path}", line ${line}, in f`;
  const tail = [frame(`${FOLDER}/train.py`, 9), frame(`${FOLDER}/loss.py`, 19)];
  const ended = { state: "failed", reason: "RuntimeError: diverged", cwd: FOLDER } as const;
  const sentence = (...more: string[]): string =>
    failureSentence(aRun({ ...ended, tail: [...tail, ...more].join("\n") }));
  assert.equal(sentence(), "train.py failed: RuntimeError: diverged (loss.py:19)");
  const inLibrary = frame(`${FOLDER}/.venv/lib/python3.12/site-packages/ray/worker.py`, 3);
  assert.equal(sentence(inLibrary), sentence());
  assert.equal(failureSentence(aRun(ended)), "train.py failed: RuntimeError: diverged");
});

for (const [button, command, isKnown] of [
  ["Show Output", "eagleray.showOutput", false],
  ["Diagnose", "eagleray.diagnose", false],
  ["Rerun", "eagleray.restartRun", false],
  ["Edit and Rerun…", "eagleray.editAndRerun", true],
] as const) {
  test(`“${button}” of the message runs ${command} for that run`, async () => {
    editor.answer = () => button;
    const run = aRun({ state: "failed", ended: now(), code: 1 });
    if (isKnown) {
      await keepRun(fake.app, run.id, "/w/train.py", PLAIN);
    }
    await list(run);
    const buttons = ["Show Output", "Diagnose", isKnown ? "Edit and Rerun…" : "Rerun"];
    assert.deepEqual(editor.asked.at(-1)?.buttons, buttons);
    assert.equal(editor.executed.at(-1)?.command, command);
    assert.deepEqual(editor.executed.at(-1)?.args, [{ row: "run", run }]);
  });
}

test("cancelled runs, exited ones, old failures and runs of another folder have no message", async () => {
  await list(
    aRun({ id: "1", state: "cancelled", ended: now(), code: 130 }),
    aRun({ id: "2", state: "exited", ended: now(), code: 0 }),
    aRun({ id: "3", state: "failed", ended: 1003, code: 1 }),
    aRun({ id: "4", state: "failed", ended: now(), code: 1, workspace: "/v" }),
  );
  assert.deepEqual(editor.asked, []);
});

test("a run that could not start says why", () => {
  const run = aRun({ state: "failed", note: "train.sh: permission denied." });
  assert.equal(failureSentence(run), "train.py failed: train.sh: permission denied.");
});

test("workers that pause are named, many of them counted", () => {
  const status = runWorker({ state: "paused", rank: "1", path: "/w/learner.py", line: 19 });
  assert.equal(pausedText([]), "");
  assert.equal(pausedText([{ status }]), "policy-0 (rank 1) paused at learner.py:19");
  assert.equal(pausedText([{ status }, { status }]), "2 more workers paused");
});

const FILES = ["/w/project/learner.py", "/w/project/pkg/learner.py", "/usr/lib/python3/ast.py"];
const FRAMES: readonly (readonly [string, string, string | undefined])[] = [
  ["a file of the folder", "learner.py", "/w/project/learner.py"],
  ["an absolute path", "/usr/lib/python3/ast.py", "/usr/lib/python3/ast.py"],
  [
    "a file of Ray’s copy of the folder",
    "/tmp/ray/session/runtime_resources/working_dir_files/_ray_pkg_5/pkg/learner.py",
    "/w/project/pkg/learner.py",
  ],
  ["a file that this machine lacks", "/opt/ray/actor.py", undefined],
  ["a path out of the folder", "../../etc/passwd", undefined],
];

for (const [name, written, file] of FRAMES) {
  test(`the link of ${name} leads to ${file ?? "nothing"}`, async () => {
    const isThere = (path: string): Promise<boolean> => Promise.resolve(FILES.includes(path));
    assert.equal(await localFile(written, "/w/project", isThere), file);
  });
}

test("a frame of a traceback in the output of a run is a link that opens its line", async () => {
  const links = new TracebackLinks(() => process.cwd());
  const line = '  File "package.json", line 3, in main';
  const context = { line, terminal: {}, token: {} };
  const [link] = await links.provideTerminalLinks(
    context as unknown as Parameters<typeof links.provideTerminalLinks>[0],
  );
  assert.ok(link);
  assert.equal(
    line.slice(link.startIndex, link.startIndex + link.length),
    'File "package.json", line 3',
  );
  await links.handleTerminalLink(link);
  assert.deepEqual(editor.shown.at(-1), { path: `${process.cwd()}/package.json`, line: 2 });
});
