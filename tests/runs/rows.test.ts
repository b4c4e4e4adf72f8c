// The content of the view Runs, without an editor.
import assert from "node:assert/strict";
import { test } from "node:test";

import { RecordingTimes } from "../../extension/runs/recording_times";
import {
  runsRows,
  runsTexts,
  startTime,
  type RunsRow,
  type RunsView,
} from "../../extension/runs/rows";
import type { Run } from "../../extension/runs/messages";
import type { ProfiledRuns } from "../../extension/profile/recordings/messages";
import { profiledRun, profiledWorker } from "../profile/recordings/samples";
import { cluster, clustersOf } from "../debug/workers/samples";
import { aRun, runLine, runWorker } from "./samples";

const NOW_S = 1080;
const STARTED = startTime(1000, NOW_S);

function viewOf(...runs: Run[]): RunsView {
  return {
    runs: { runs },
    servers: [],
    clusters: clustersOf([cluster({ id: "c", name: "big" })]),
    profiled: { runs: [] },
    recordings: new RecordingTimes(),
    now_s: NOW_S,
  };
}

function textsOf(run: Run): ReturnType<typeof runsTexts> {
  return runsTexts(viewOf(run), { row: "run", run });
}

function below(run: Run, row: RunsRow = { row: "run", run }): readonly RunsRow[] {
  return runsRows(viewOf(run), row);
}

/** Labels and descriptions of the rows below a row. */
function shownBelow(run: Run, row?: RunsRow): readonly (readonly [string, string])[] {
  return below(run, row).map((row) => {
    const { label, description } = runsTexts(viewOf(run), row);
    return [label, description];
  });
}

const paused = runWorker({ state: "paused" });
const NO_RAY = "ModuleNotFoundError: No module named 'ray'";
const DESCRIPTIONS: readonly (readonly [string, Run, string])[] = [
  ["a running run", aRun(), "running · 1 m 20 s"],
  ["a job", aRun({ kind: "job", cluster: "c", state: "starting" }), "starting · 1 m 20 s · big"],
  ["one with a Ray of its own", aRun({ cluster: "http://127.0.0.1:8265" }), "running · 1 m 20 s"],
  ["an exited run", aRun({ state: "exited", ended: 1003, code: 0 }), `exited · 3 s · ${STARTED}`],
  [
    "a run whose supervisor ended before it",
    aRun({ state: "unknown", ended: 1003, code: null }),
    `exit code unknown · 3 s · ${STARTED}`,
  ],
  [
    "a cancelled run",
    aRun({ state: "cancelled", ended: 1060, code: 130 }),
    `cancelled after 1 m · ${STARTED}`,
  ],
  [
    "a failed run without a reason",
    aRun({ state: "failed", ended: 1003, code: 2 }),
    `failed (exit 2) · 3 s · ${STARTED}`,
  ],
  [
    "a failed run with a reason",
    aRun({ state: "failed", ended: 1003, code: 1, reason: NO_RAY }),
    `${NO_RAY} · ${STARTED}`,
  ],
  [
    "a run that could not start",
    aRun({ state: "failed", ended: 1000, note: "train.sh: permission denied." }),
    `train.sh: permission denied. · ${STARTED}`,
  ],
  [
    "a failed run whose reason looks like an icon",
    aRun({ state: "failed", ended: 1003, code: 1, reason: "ValueError: $(x)" }),
    `ValueError: $\u200b(x) · ${STARTED}`,
  ],
  [
    "a run with a paused, a debugged and a held worker of four",
    aRun({
      state: "paused",
      workers: [
        paused,
        runWorker({ state: "debugging" }),
        runWorker({ state: "held" }),
        runWorker(),
      ],
    }),
    "1 paused · 1 held · 1 debugging · 4 workers · 1 m 20 s",
  ],
  [
    "a run with a note",
    aRun({ state: "exited", ended: 1001, code: 0, note: "No breakpoint was hit." }),
    `exited · 1 s · ${STARTED} · No breakpoint was hit.`,
  ],
  ["a run without a supervisor", aRun({ state: "unwatched" }), "state unknown · 1 m 20 s"],
];

for (const [name, run, description] of DESCRIPTIONS) {
  test(`the row of ${name} reads “${description.replace(STARTED, "14:02")}”`, () => {
    assert.equal(textsOf(run).description, description);
  });
}

test("the label of a run has its arguments, cut where the state would lose its room", () => {
  assert.equal(textsOf(aRun()).label, "train.py --steps 3");
  const { label, tooltip } = textsOf(
    aRun({ arguments: "--steps 3 --learning-rate 0.001", command: "python train.py --steps 3 x" }),
  );
  assert.equal(label, "train.py --steps 3…");
  assert.match(tooltip, /^python train\.py --steps 3 x\nFolder: \/w\/project/);
});

test("at 300 px the row of a failed run shows arguments and the kind of error", () => {
  const { label, description } = textsOf(
    aRun({ state: "failed", ended: 1003, code: 1, reason: NO_RAY }),
  );
  // About so many characters of the editor's font, without indentation and icon.
  assert.match(`${label} ${description}`.slice(0, 42), /--steps 3 ModuleNotFoundError/);
});

test("the start time has a date on another day", () => {
  assert.match(STARTED, /^\d\d:\d\d$/);
  assert.match(startTime(1000, 1000 + 3 * 86_400), /^\d\d-\d\d \d\d:\d\d$/);
});

test("the rows of two runs have distinct ids", () => {
  assert.notEqual(textsOf(aRun()).id, textsOf(aRun({ id: "1" })).id);
});

test("text from a cluster becomes neither an icon nor a link", () => {
  const run = aRun({ name: "$(trash) [a](b)", workers: [runWorker({ name: "$(x)\u001b[1m" })] });
  assert.doesNotMatch(textsOf(run).label, /\$\(|\]\(/);
  assert.doesNotMatch(shownBelow(run)[0]?.[0] ?? "", /\$\(/);
});

test("workers are sorted by rank, with their stop location or their state", () => {
  const workers = [
    runWorker({ name: "policy-10", rank: "10", state: "starting" }),
    runWorker({ name: "policy-2", rank: "2", state: "held", path: "/x/policy.py", line: 7 }),
    runWorker({ name: "train.py", kind: "driver" }),
  ];
  const run = aRun({ workers });
  assert.deepEqual(shownBelow(run), [
    ["train.py", "running"],
    ["policy-2", "policy.py:7"],
    ["policy-10", "starting"],
  ]);
  const contexts = below(run).map((row) => runsTexts(viewOf(run), row).context);
  assert.deepEqual(contexts, ["runWorker.running", "runWorker.held", "runWorker.starting"]);
});

test("many workers are grouped by their class, with how many are paused", () => {
  const policies = Array.from({ length: 9 }, (_, rank) =>
    runWorker({
      worker_id: `p${rank}`,
      name: `policy-${rank}`,
      rank: String(rank),
      state: rank < 2 ? "paused" : "running",
    }),
  );
  const critic = runWorker({ worker_id: "c", name: "critic" });
  const run = aRun({ workers: [...policies.slice().reverse(), critic] });
  assert.deepEqual(shownBelow(run), [
    ["policy", "2 paused · 9 workers"],
    ["critic", "running"],
  ]);
  const [group] = below(run);
  assert.ok(group);
  assert.deepEqual(
    shownBelow(run, group).map(([label]) => label),
    policies.map(({ name }) => name),
  );
});

test("only breakpoints with a problem have rows", () => {
  const lines = [
    runLine(),
    runLine({ line: 11, reason: "Not in 1 of 2 processes: the condition fails." }),
    runLine({ line: 13, state: "moved", moved_to: 15 }),
    runLine({ line: 99, state: "unreachable" }),
    runLine({ path: "/w/other.py", state: "pending" }),
    runLine({ path: "/w/far.py", state: "pending", reason: "The file is not on that node." }),
  ];
  const run = aRun({ lines });
  const [group] = below(run);
  assert.deepEqual(shownBelow(run), [["Breakpoints", "5 not verified"]]);
  assert.deepEqual(shownBelow(run, group), [
    ["policy.py:11", "Not in 1 of 2 processes: the condition fails."],
    ["policy.py:13", "moved to line 15"],
    ["policy.py:99", "no code near this line"],
    ["other.py:12", "not loaded yet"],
    ["far.py:12", "The file is not on that node."],
  ]);
  const ended = aRun({ state: "exited", ended: 1001, lines: lines.slice(4, 5) });
  assert.deepEqual(shownBelow(ended, below(ended)[0]), [["other.py:12", "never loaded"]]);
  assert.deepEqual(shownBelow(aRun({ lines: lines.slice(0, 1) })), []);
});

test("downloaded reports are listed below their run", () => {
  const run = aRun({ state: "exited", ended: 1001 });
  const workers = [profiledWorker({ reports: ["/o/policy.nsys-rep"] })];
  const profiled = {
    runs: [profiledRun({ run: run.id, state: "gathered", gathered: 1, workers })],
  };
  const view = { ...viewOf(run), profiled };
  const [group] = runsRows(view, { row: "run", run });
  assert.ok(group);
  assert.equal(runsTexts(view, group).label, "Reports");
  const [report] = runsRows(view, group);
  assert.ok(report);
  const { label, description } = runsTexts(view, report);
  assert.deepEqual([label, description], ["policy-0", "rank 0 · policy.nsys-rep"]);
});

test("a recording shows how long it has run, if its begin was seen", () => {
  const times = new RecordingTimes();
  const of = (run: string, state: "idle" | "recording"): ProfiledRuns => ({
    runs: [profiledRun({ run, state })],
  });
  times.update(of("a", "recording"), 5);
  assert.equal(times.since("a"), undefined);
  times.update(of("b", "idle"), 6);
  times.update(of("b", "recording"), 7);
  times.update(of("b", "recording"), 9);
  assert.deepEqual([times.since("b"), times.isRecording], [7, true]);
  times.update(of("b", "idle"), 10);
  assert.deepEqual([times.since("b"), times.isRecording], [undefined, false]);
});

test("a live run of few rows is expanded, an ended one is not", () => {
  const classes = Array.from({ length: 40 }, (_, at) =>
    runWorker({ worker_id: String(at), name: `worker ${String.fromCharCode(97 + at)}x` }),
  );
  assert.equal(textsOf(aRun({ state: "exited", ended: 1001 })).children, "none");
  assert.equal(textsOf(aRun()).children, "expanded");
  assert.equal(textsOf(aRun({ workers: classes.slice(0, 4) })).children, "expanded");
  assert.equal(textsOf(aRun({ workers: classes })).children, "collapsed");
  const ended = aRun({ state: "exited", ended: 1001, workers: classes.slice(0, 4) });
  assert.equal(textsOf(ended).children, "collapsed");
});

test("the tooltip has Python, start, state and the last lines of a failed run", () => {
  const failed = { state: "failed", ended: 1003, code: 1, reason: "ValueError: x" } as const;
  const { tooltip, spoken } = textsOf(
    aRun({ ...failed, python: "/opt/python", tail: "Traceback\nValueError: x" }),
  );
  assert.match(tooltip, /^Python: \/opt\/python$/m);
  assert.match(tooltip, /^Started: \d\d:\d\d$/m);
  assert.match(tooltip, /^failed \(exit 1\), 3 s\nTraceback\nValueError: x$/m);
  assert.match(spoken, /^run train\.py --steps 3, failed \(exit 1\), ValueError: x/);
});
