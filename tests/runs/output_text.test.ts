// The output of a run as a document of the editor: its text, its links, and what it says when there is nothing to read.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import type { TextDocument } from "vscode";

import { EaglerayError } from "../../extension/common/errors";
import { CHANGED, LIST, OUTPUT, type OutputPiece, type Run } from "../../extension/runs/messages";
import { outputLinks, outputText, plainOutput } from "../../extension/runs/output_text";
import type { FakeApp } from "../fakes/app";
import { registeredForEach, registerRuns } from "../fakes/registered";
import { editor } from "../fakes/vscode";
import { aRun } from "./samples";

const ENDED = { state: "failed", ended: 1003, code: 1 } as const;
const LARGE = 2 ** 18;

let fake: FakeApp;

registeredForEach(registerRuns, (made) => {
  fake = made;
});

function list(run: Run): Run {
  fake.sidecar.on(LIST, () => ({ runs: [run] }));
  fake.sidecar.notify(CHANGED, { runs: [run] });
  return run;
}

function pieces(...answers: Partial<OutputPiece>[]): void {
  fake.sidecar.on(OUTPUT, () => ({
    ...{ text: "", next: 0, skipped: 0, is_over: false },
    ...answers.shift(),
  }));
}

const asked = (): readonly number[] =>
  fake.sidecar.sentTo(OUTPUT).map((from) => (from as { offset: number }).offset);

const TEXTS: readonly (readonly [string, string, string])[] = [
  ["colours go", "\u001b[1;31mred\u001b[0m\u001b(B text\u0007", "red text"],
  ["of a progress bar the last state stays", "\r 1%\r50%\r100%\r\nnext", "100%\nnext"],
  ["a line that is not over yet stays", "a\n 1%\r 2%\r", "a\n 2%"],
  ["what was erased by backspaces goes", "abc\b\bx\b", "a"],
  ["lines of Windows end as others", "a\r\n\r\nb\r\r\n", "a\n\nb\n"],
];

for (const [name, printed, expected] of TEXTS) {
  test(`in the text of an output ${name}`, () => {
    assert.equal(plainOutput(printed), expected);
  });
}

test("the output of an ended run is read from its beginning to its end", async () => {
  const run = list(aRun(ENDED));
  pieces({ text: "one\n", next: 4 + LARGE }, { text: "two\n", next: 8 + LARGE, is_over: true });
  assert.equal(await outputText(fake.app, run.id), "one\ntwo\n");
  assert.deepEqual(asked(), [0, 4 + LARGE]);
});

test("the output of a live run is read as far as it is", async () => {
  const run = list(aRun());
  pieces({ text: "one\n", next: LARGE }, { text: "two\n", next: LARGE + 4 }, { text: "later" });
  assert.equal(await outputText(fake.app, run.id), "one\ntwo\n");
});

test("output that was left out is named, with the file of all", async () => {
  const run = list(aRun({ ...ENDED, output: "/r/output.log" }));
  pieces({ text: "end\n", next: 90, skipped: 86, is_over: true });
  assert.equal(
    await outputText(fake.app, run.id),
    "The beginning is not shown. All output: /r/output.log\nend\n",
  );
});

test("a document says when no output exists, and why none could be read", async () => {
  const run = list(aRun(ENDED));
  pieces({ is_over: true });
  assert.equal(await outputText(fake.app, run.id), "This run has printed nothing.\n");
  fake.sidecar.answers.set(OUTPUT.method, () => {
    throw new EaglerayError("unknown-run", "This run is no longer listed.");
  });
  assert.match(await outputText(fake.app, run.id), /^This run is no longer listed\./);
});

test("“Open Output as Text” opens a document under the name of the run", async () => {
  const run = list(aRun(ENDED));
  pieces({ text: "one\n", next: 4, is_over: true });
  await editor.run("eagleray.openOutput", { row: "run", run });
  const [document] = editor.documents;
  assert.match(document?.uri.path ?? "", /^\/train\.py .*\d\d:\d\d\.log$/);
  assert.equal(document?.text, "one\n");
});

test("frames of a traceback are links to files of this machine", async () => {
  const cwd = mkdtempSync(join(tmpdir(), "er-"));
  try {
    writeFileSync(join(cwd, "learner.py"), "");
    const run = list(aRun({ ...ENDED, cwd }));
    const text =
      '(Policy pid=7)   File "/copy/learner.py", line 19, in train\n  File "/x.py", line 2\n';
    const document = { uri: { query: run.id }, getText: () => text } as unknown as TextDocument;
    const [link, ...more] = await outputLinks(fake.app, document);
    assert.deepEqual(more, []);
    const { path, fragment } = link?.target ?? {};
    assert.deepEqual([path, fragment], [join(cwd, "learner.py"), "L19"]);
  } finally {
    rmSync(cwd, { recursive: true });
  }
});
