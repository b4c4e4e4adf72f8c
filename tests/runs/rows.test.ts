// What the view Runs shows, without an editor.
import assert from "node:assert/strict";
import { test } from "node:test";

import { runsRows, runsTexts, type RunsView } from "../../extension/features/runs/rows";
import type { Run } from "../../extension/features/runs/messages";
import { cluster, clustersOf } from "../workers/samples";
import { aRun, runLine, runWorker } from "./samples";

function viewOf(...runs: Run[]): RunsView {
  return {
    runs: { runs },
    clusters: clustersOf([cluster({ id: "c", name: "big" })]),
    profiled: { runs: [] },
    now_s: 1150,
  };
}

function textsOf(run: Run): ReturnType<typeof runsTexts> {
  return runsTexts(viewOf(run), { row: "run", run });
}

function childrenOf(run: Run): readonly { label: string; description: string; context: string }[] {
  const view = viewOf(run);
  return runsRows(view, { row: "run", run }).map((row) => runsTexts(view, row));
}

const DESCRIPTIONS: readonly (readonly [string, Run, string])[] = [
  ["one that goes on", aRun(), "running · 2 m 30 s"],
  ["a job", aRun({ kind: "job", cluster: "c", state: "starting" }), "starting · 2 m 30 s · big"],
  ["one with a Ray of its own", aRun({ cluster: "http://127.0.0.1:8265" }), "running · 2 m 30 s"],
  ["one that ended well", aRun({ state: "ended", ended: 1003, code: 0 }), "ended · 3 s"],
  ["one that was stopped", aRun({ state: "stopped", ended: 1003, code: 1 }), "stopped · 3 s"],
  ["one that failed", aRun({ state: "failed", ended: 1003, code: 2 }), "failed (exit 2) · 3 s"],
  [
    "one that failed for a reason",
    aRun({ state: "failed", ended: 1003, code: 1, reason: "ValueError: $(x)" }),
    "ValueError: $\u200b(x) · 3 s",
  ],
  [
    "one of whose two processes one stands",
    aRun({ state: "stopped_at", workers: [runWorker({ state: "stopped" }), runWorker()] }),
    "1 of 2 processes stopped · 2 m 30 s",
  ],
  [
    "one with something to know",
    aRun({ state: "ended", ended: 1001, code: 0, note: "It finished before anything stopped." }),
    "ended · 1 s · It finished before anything stopped.",
  ],
  ["one that nobody keeps", aRun({ state: "unwatched" }), "not watched any more · 2 m 30 s"],
];

for (const [name, run, description] of DESCRIPTIONS) {
  test(`the row of ${name}`, () => {
    assert.equal(textsOf(run).description, description);
  });
}

test("the tooltip has the exact command, and rows have distinct ids", () => {
  assert.match(textsOf(aRun()).tooltip, /^python train\.py --steps 3\nIn \/w\/project/);
  assert.notEqual(textsOf(aRun()).id, textsOf(aRun({ id: "1" })).id);
});

test("text from a cluster becomes neither an icon nor a link", () => {
  const run = aRun({ name: "$(trash) [a](b)", workers: [runWorker({ name: "$(x)\u001b[1m" })] });
  assert.doesNotMatch(textsOf(run).label, /\$\(|\]\(/);
  assert.doesNotMatch(childrenOf(run)[0]?.label ?? "", /\$\(/);
});

test("stopped workers come first, with their line", () => {
  const stopped = runWorker({
    name: "b",
    state: "stopped",
    path: "/x/policy.py",
    line: 7,
    rank: "1",
  });
  const rows = childrenOf(aRun({ workers: [runWorker({ name: "a" }), stopped] }));
  assert.deepEqual(
    rows.map((row) => [row.label, row.description, row.context]),
    [
      ["b", "stopped · rank 1 · policy.py:7 · pid 7", "runWorker.stopped"],
      ["a", "running free · pid 7", "runWorker.free"],
    ],
  );
});

test("lines that moved, cannot be reached or wait for their file have a row; the others none", () => {
  const lines = [
    runLine(),
    runLine({ line: 13, state: "moved", moved_to: 15 }),
    runLine({ line: 99, state: "unreachable" }),
    runLine({ path: "/w/other.py", state: "pending" }),
    runLine({ path: "/w/far.py", state: "pending", reason: "The file is not on that node." }),
  ];
  assert.deepEqual(
    childrenOf(aRun({ lines })).map((row) => [row.label, row.description]),
    [
      ["policy.py:13", "stops at line 15, the nearest with code"],
      ["policy.py:99", "cannot be reached: there is no code near this line"],
      ["other.py:12", "no process has loaded this file yet"],
      ["far.py:12", "The file is not on that node."],
    ],
  );
  const ended = aRun({ state: "ended", ended: 1001, lines: lines.slice(3, 4) });
  assert.equal(childrenOf(ended)[0]?.description, "no process loaded this file");
});

test("a live run of few workers is expanded, one of many is not", () => {
  const many = Array.from({ length: 64 }, (_, at) => runWorker({ worker_id: String(at) }));
  assert.equal(textsOf(aRun({ state: "ended", ended: 1001 })).children, "none");
  assert.equal(textsOf(aRun()).children, "expanded");
  assert.equal(textsOf(aRun({ workers: many.slice(0, 4) })).children, "expanded");
  assert.equal(textsOf(aRun({ workers: many })).children, "collapsed");
  const ended = aRun({ state: "ended", ended: 1001, workers: many.slice(0, 4) });
  assert.equal(textsOf(ended).children, "collapsed");
});

test("the tooltip has the Python, and of a run that failed the last lines", () => {
  const failed = { state: "failed", ended: 1003, code: 1, reason: "ValueError: x" } as const;
  const { tooltip, spoken } = textsOf(
    aRun({ ...failed, python: "/opt/python", tail: "Traceback\nValueError: x" }),
  );
  assert.match(tooltip, /^Python \/opt\/python$/m);
  assert.match(tooltip, /^failed \(exit 1\), 3 s\nTraceback\nValueError: x$/m);
  assert.match(spoken, /failed \(exit 1\), ValueError: x/);
});
