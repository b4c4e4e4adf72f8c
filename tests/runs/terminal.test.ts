// The terminal of a run: what it replays and follows, how it ends, and what keys do in it.
import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";

import { EaglerayError } from "../../extension/common/errors";
import {
  CHANGED,
  LIST,
  OUTPUT,
  STOP,
  type OutputFrom,
  type OutputPiece,
  type Run,
} from "../../extension/runs/messages";
import { RunOutput } from "../../extension/runs/output";
import { settled, type FakeApp } from "../fakes/app";
import { registeredForEach, registerRuns } from "../fakes/registered";
import { editor } from "../fakes/vscode";
import { aRun, runWorker } from "./samples";

/** Longer than any pause between two pieces, or before the next try. */
const LONG_MS = 60_000;
const ENDED = { state: "exited", ended: 1003, code: 0 } as const;

interface Pty {
  open(): void;
  close(): void;
  handleInput(data: string): void;
  onDidWrite(listener: (text: string) => void): unknown;
  onDidClose(listener: () => void): unknown;
}

let fake: FakeApp;
let shown = "";
let closed = 0;

beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout"] });
  shown = "";
  closed = 0;
});

registeredForEach(registerRuns, (made) => {
  fake = made;
});

afterEach(() => {
  mock.timers.reset();
});

function list(run: Run): void {
  fake.sidecar.on(LIST, () => ({ runs: [run] }));
  fake.sidecar.notify(CHANGED, { runs: [run] });
}

/** Each is answered once; the last request stays without an answer. */
function pieces(...answers: (Partial<OutputPiece> | Error)[]): void {
  fake.sidecar.answers.set(OUTPUT.method, () => {
    const next = answers.shift();
    if (next instanceof Error) {
      throw next;
    }
    const piece = { text: "", next: 0, skipped: 0, is_over: false };
    return next === undefined ? new Promise(() => undefined) : { ...piece, ...next };
  });
}

async function opened(run: Run): Promise<Pty> {
  list(run);
  await editor.run("eagleray.showOutput", { row: "run", run });
  const pty = editor.terminals.at(-1)?.options["pty"] as Pty;
  pty.onDidWrite((text) => {
    // A line of ours is dim until its end.
    shown += text.replaceAll("\u001b[0m\r\n", "\r\n");
  });
  pty.onDidClose(() => {
    closed += 1;
  });
  pty.open();
  await later();
  return pty;
}

async function later(): Promise<void> {
  for (let round = 0; round < 5; round += 1) {
    await settled();
    mock.timers.tick(LONG_MS);
  }
  await settled();
}

function asked(): readonly number[] {
  return (fake.sidecar.sentTo(OUTPUT) as OutputFrom[]).map(({ offset }) => offset ?? 0);
}

const LAST_LINES: readonly (readonly [string, Partial<Run>, RegExp])[] = [
  [
    "0",
    ENDED,
    / \* .*train\.py exited with code 0 after 3 s\. Press R to run again, any other key to close\.\r\n$/,
  ],
  [
    "1",
    { state: "failed", ended: 1001, code: 1 },
    /train\.py failed with exit code 1 after 1 s\. Press R/,
  ],
  [
    "Stop",
    { state: "cancelled", ended: 1065, code: 130 },
    /train\.py was cancelled after 1 m[^.]*\. Press R/,
  ],
  [
    "no start",
    { state: "failed", ended: 1000, note: "No room." },
    /No room\.\r\n.*train\.py failed after 0 s\. Press R/,
  ],
  [
    "another host",
    { state: "unwatched", note: "x" },
    / x\r\n[^]*half\r\n.*may still be running\. .*Press any key/,
  ],
];

for (const [name, changes, last] of LAST_LINES) {
  test(`the output of a run stays after its end, with a last line: ${name}`, async () => {
    pieces({ text: "step 1\nhalf", next: 11, is_over: true });
    await opened(aRun(changes));
    assert.match(shown, /step 1\r\nhalf\r\n/);
    assert.match(shown, last);
    assert.equal(closed, 0);
    assert.equal(editor.terminals[0]?.exitStatus, undefined);
  });
}

test("it follows piece by piece, asking for the next once the last is shown", async () => {
  pieces({ text: "a\n", next: 2 }, { text: "b\r\n", next: 5 });
  await opened(aRun());
  assert.equal(shown, "a\r\nb\r\n");
  assert.deepEqual(asked(), [-1, 2, 5]);
});

test("omitted output is noted, with the file that has all of it", async () => {
  const mb = 2 ** 20;
  pieces({ text: "z\n", next: 9, skipped: 63 * mb }, { text: "y\n", next: 99, skipped: 12 * mb });
  await opened(aRun());
  assert.match(
    shown,
    /The first 63 MB are not shown\. All output: \/h\/runs\/\w+\/output\.log\r\nz/,
  );
  assert.match(shown, /Skipped 12 MB: .*\r\ny/);
});

test("a new sidecar continues the output where the lost one ended", async () => {
  pieces({ text: "a\n", next: 2 }, new EaglerayError("sidecar-lost", "gone"), {
    text: "b\n",
    next: 4,
  });
  await opened(aRun());
  assert.equal(shown, "a\r\nb\r\n");
  assert.deepEqual(asked(), [-1, 2, 2, 4]);
});

test("a run that is forgotten meanwhile ends the output without an error", async () => {
  pieces({ text: "a\n", next: 2 }, new EaglerayError("unknown-run", "none"));
  const pty = await opened(aRun());
  assert.equal(editor.asked.length, 0);
  assert.match(shown, /train\.py|no longer listed/);
  pty.handleInput("x");
  assert.equal(closed, 1);
});

test("Ctrl-C stops the run, once more hurries, and other keys do nothing while it runs", async () => {
  pieces();
  const pty = await opened(aRun({ id: "live" }));
  for (const key of ["x", "\r", "r", "\x1b[A"]) {
    pty.handleInput(key);
  }
  assert.deepEqual([fake.sidecar.sentTo(STOP), closed], [[], 0]);
  pty.handleInput("\x03");
  await settled();
  assert.match(shown, /\^C\r\n.*Stopping… Press Ctrl-C again to stop now\.\r\n$/);
  pty.handleInput("\x03");
  await settled();
  assert.equal(fake.sidecar.sentTo(STOP).length, 2);
  assert.deepEqual(fake.sidecar.sentTo(STOP)[0], { id: "live", confirmed: false });
});

test("Ctrl-C leaves a SLURM job running", async () => {
  pieces();
  const pty = await opened(aRun({ kind: "sbatch" }));
  pty.handleInput("\x03");
  await settled();
  assert.match(shown, /The SLURM job keeps running\. “Stop Run” cancels it\./);
  assert.deepEqual(fake.sidecar.sentTo(STOP), []);
});

test("after the end R runs it again and closes, and what the terminal itself sends closes nothing", async () => {
  pieces({ is_over: true });
  const run = aRun(ENDED);
  const pty = await opened(run);
  for (const key of ["\x1b[A", "\x1b[1;1R", "\x1b[I"]) {
    pty.handleInput(key);
  }
  assert.deepEqual([closed, editor.executed.length], [0, 0]);
  pty.handleInput("R");
  assert.deepEqual(editor.executed.at(-1)?.command, "eagleray.restartRun");
  assert.deepEqual(editor.executed.at(-1)?.args, [{ row: "run", run }]);
  assert.equal(closed, 1);
});

for (const key of ["q", "\r", " ", "\x1b", "\x03"]) {
  test(`after the end the key ${JSON.stringify(key)} closes the terminal`, async () => {
    pieces({ is_over: true });
    const pty = await opened(aRun(ENDED));
    pty.handleInput(key);
    assert.equal(closed, 1);
    assert.deepEqual(editor.executed, []);
  });
}

test("a pause, a note and their end are lines of their own, each once", async () => {
  pieces({ text: "step 1", next: 6 });
  await opened(aRun());
  const stopped = runWorker({ state: "paused", path: "/w/rollout.py", line: 3 });
  list(aRun({ workers: [stopped] }));
  list(aRun({ workers: [stopped], note: "It waits." }));
  await settled();
  assert.match(
    shown,
    /^step 1\r\n.*\[eagleray\] policy-0 paused at rollout\.py:3\r\n.*It waits\.\r\n$/,
  );
  list(aRun({ workers: [runWorker()], note: "It waits." }));
  list(aRun({ workers: [stopped], note: "It waits." }));
  assert.equal(shown.match(/paused at/g)?.length, 2);
  // The next stop at the same line, between which no list has shown the worker as running.
  list(aRun({ workers: [{ ...stopped, stop: 2 }], note: "It waits." }));
  assert.equal(shown.match(/paused at/g)?.length, 3);
});

test("steps in an editor are not pauses, and the next stop without one is", async () => {
  pieces({ text: "step 1", next: 6 });
  await opened(aRun());
  const paused = runWorker({ state: "paused", path: "/w/rollout.py", line: 3, stop: 1 });
  const step = { ...paused, state: "debugging" } as const;
  list(aRun({ workers: [paused] }));
  list(aRun({ workers: [step] }));
  list(aRun({ workers: [{ ...step, stop: 2 }] }));
  list(aRun({ workers: [runWorker()] }));
  list(aRun({ workers: [{ ...step, stop: 3 }] }));
  list(aRun({ workers: [{ ...step, state: "held", stop: 3 }] }));
  assert.equal(shown.match(/paused at/g)?.length, 1);
  list(aRun({ workers: [{ ...paused, stop: 4 }] }));
  assert.equal(shown.match(/paused at/g)?.length, 2);
});

test("a run that starts takes the place of the terminals of ended runs of the same program", async () => {
  pieces();
  const runs = [
    aRun({ id: "1", ...ENDED }),
    aRun({ id: "2", ...ENDED, name: "eval.py" }),
    aRun({ id: "3" }),
  ];
  fake.sidecar.notify(CHANGED, { runs });
  const output = new RunOutput(fake.app);
  await output.show("1", false);
  await output.show("2", false);
  await output.show("3", true);
  const closedOnes = editor.terminals.map(({ exitStatus }) => exitStatus !== undefined);
  assert.deepEqual(closedOnes, [true, false, false]);
  output.dispose();
});

test("a terminal that is closed asks for nothing more, and stops nothing", async () => {
  pieces({ text: "a", next: 1 }, { text: "b", next: 2 });
  list(aRun());
  await editor.run("eagleray.showOutput", { row: "run", run: aRun() });
  const pty = editor.terminals.at(-1)?.options["pty"] as Pty;
  pty.open();
  await settled();
  pty.close();
  await later();
  assert.deepEqual([asked().length, fake.sidecar.sentTo(STOP)], [1, []]);
});
