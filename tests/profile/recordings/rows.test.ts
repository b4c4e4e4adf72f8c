// The state of nsys in the rows of runs, and the workers that a command is for.
import assert from "node:assert/strict";
import { test } from "node:test";

import type { Row } from "../../../extension/rows";
import {
  gatheredSentence,
  newlyGathered,
  noReportSentence,
} from "../../../extension/profile/recordings/gathered_reports";
import type { ProfiledRun } from "../../../extension/profile/recordings/messages";
import { reportsOf, targetsOf } from "../../../extension/profile/recordings/recording_targets";
import { runsTexts } from "../../../extension/runs/rows";
import { aRun, runWorker } from "../../runs/samples";
import { clustersOf } from "../../debug/workers/samples";
import { profiledRun, profiledWorker } from "./samples";

function texts(row: "run" | "runWorker", ...runs: ProfiledRun[]): ReturnType<typeof runsTexts> {
  const view = {
    runs: { runs: [] },
    servers: [],
    clusters: clustersOf([]),
    profiled: { runs },
    recordings: { since: () => 1048 },
    now_s: 1060,
  };
  const run = aRun();
  return runsTexts(view, row === "run" ? { row, run } : { row, run, worker: runWorker() });
}

const recording = profiledWorker({ worker_id: "cafe", state: "recording" });
const WITHOUT = "Node n1: there is no nsys; worker 'policy-0' runs without nsys.";
const missing = profiledWorker({ state: "missing", sentence: WITHOUT });
const RUNS: readonly (readonly [Partial<ProfiledRun>, string])[] = [
  [{}, "1 worker profiled"],
  [{ workers: [] }, "waiting for workers"],
  [{ workers: [], sentence: "No worker fits *x*." }, "waiting for workers"],
  [{ workers: [missing] }, "no nsys on n1"],
  [{ workers: [missing, { ...missing, node: "n2" }] }, "no nsys on 2 nodes"],
  [{ workers: [missing, profiledWorker()] }, "1 worker profiled"],
  [{ state: "gathered", workers: [missing] }, "no report: no nsys on n1"],
  [{ gathered: 2 }, "2 reports"],
  [{ state: "recording", workers: [profiledWorker(), recording] }, "● recording 1 of 2 12 s"],
  [{ state: "writing" }, "writing 1 report"],
  [{ state: "gathering", gathered: 3, expected: 8 }, "downloading 3 of 8 reports"],
  [{ state: "gathered", gathered: 8, expected: 8 }, "8 reports"],
  [{ state: "gathered" }, "no report"],
  [{ state: "gathered", sentence: "No worker fits *x*." }, "no report: No worker fits *x*."],
  [{ state: "failed", sentence: "The disk is full." }, "reports not downloaded: The disk is full."],
];

for (const [changes, words] of RUNS) {
  test(`a run of which is said “${words}”`, () => {
    const isRecording = texts("run", profiledRun(changes)).context === "run.live.recording";
    const expected = isRecording ? `${words} · 1 m` : `${words} · running · 1 m`;
    assert.equal(texts("run", profiledRun(changes)).description, expected);
  });
}

test("menus distinguish runs that record, could record, or have no nsys", () => {
  assert.equal(texts("run").context, "run.live");
  assert.equal(texts("run", profiledRun()).context, "run.live.profiled");
  assert.equal(texts("run", profiledRun({ workers: [recording] })).context, "run.live.recording");
});

test("a worker shows that nsys is ready, records, writes, or why it is missing", () => {
  const said = (changes: object): readonly [string, string] => {
    const row = texts("runWorker", profiledRun({ workers: [profiledWorker(changes)] }));
    return [row.description.split(" · ")[0] ?? "", row.context];
  };
  assert.deepEqual(said({}), ["profiled", "runWorker.running.profiled"]);
  assert.deepEqual(said({ state: "recording" }), ["● recording", "runWorker.running.recording"]);
  assert.deepEqual(said({ state: "writing" }), [
    "writing its report",
    "runWorker.running.profiled",
  ]);
  assert.deepEqual(said({ state: "gathered", reports: ["/a"] }), [
    "1 report",
    "runWorker.running.profiled",
  ]);
  assert.deepEqual(said({ state: "missing", sentence: "n1 has no nsys." }), [
    "no nsys",
    "runWorker.running",
  ]);
});

test("a worker without nsys has a warning icon, and the reason in its tooltip", () => {
  const row = texts("runWorker", profiledRun({ workers: [missing] }));
  assert.deepEqual([row.icon, row.color], ["warning", "list.warningForeground"]);
  assert.ok(row.tooltip.includes(WITHOUT));
  assert.equal(texts("runWorker", profiledRun()).icon, "debug-continue");
});

test("a run without nsys offers no recording, and its tooltip has the reason", () => {
  const row = texts("run", profiledRun({ workers: [missing] }));
  assert.equal(row.context, "run.live");
  assert.ok(row.tooltip.includes(WITHOUT));
  const some = texts("run", profiledRun({ workers: [missing, profiledWorker()] }));
  assert.equal(some.context, "run.live.profiled");
});

test("the message of a run without nsys has its name and the reason", () => {
  const run = profiledRun({ state: "gathered", workers: [missing] });
  assert.equal(gatheredSentence(run, "train.py"), `train.py has no report. ${WITHOUT}`);
});

test("the tooltip of a worker has its log line", () => {
  assert.match(texts("runWorker", profiledRun()).tooltip, /Nsight profiling enabled for worker/);
});

test("rows of any view name the profiled workers among them, each run once", () => {
  const profiled = { runs: [profiledRun({ workers: [profiledWorker(), recording] })] };
  const run = aRun();
  const row: Row = { row: "runWorker", run, worker: runWorker() };
  const { run: id } = profiledRun();
  assert.deepEqual(targetsOf([row], profiled), [{ run: id, workers: ["beef"] }]);
  assert.deepEqual(targetsOf([row, { row: "run", run }], profiled), [{ run: id, workers: [] }]);
  const other: Row = { row: "runWorker", run, worker: runWorker({ worker_id: "cafe" }) };
  assert.deepEqual(targetsOf([row, other, row], profiled), [
    { run: id, workers: ["beef", "cafe"] },
  ]);
  const stranger: Row = { row: "runWorker", run, worker: runWorker({ worker_id: "f00d" }) };
  assert.deepEqual(targetsOf([stranger], profiled), []);
});

test("the reports of a worker, and the reports of its run", () => {
  const workers = [
    profiledWorker({ reports: ["/a"] }),
    profiledWorker({ worker_id: "cafe", reports: ["/b", "/c"] }),
  ];
  const profiled = { runs: [profiledRun({ workers })] };
  const { run } = profiledRun();
  const whose = { worker: "policy-0 (rank 0)", node: "n1" };
  const [a, b, c] = ["/a", "/b", "/c"].map((path) => ({ path, ...whose }));
  assert.deepEqual(reportsOf({ run, workers: ["cafe"] }, profiled), [b, c]);
  assert.deepEqual(reportsOf({ run, workers: [] }, profiled), [a, b, c]);
});

test("only newly gathered runs are announced", () => {
  const before = { runs: [profiledRun({ state: "gathering" }), profiledRun({ run: "2" })] };
  const done = profiledRun({ state: "gathered", gathered: 2, expected: 2 });
  const now = {
    runs: [done, profiledRun({ run: "2" }), profiledRun({ run: "3", state: "gathered" })],
  };
  assert.deepEqual(newlyGathered(before, now), [done]);
  assert.deepEqual(newlyGathered(now, now), []);
  assert.equal(gatheredSentence(done), "Downloaded 2 reports.");
  const some = { ...done, expected: 3, sentence: "Node n2 has gone." };
  assert.equal(gatheredSentence(some), "Downloaded 2 of 3 reports. Node n2 has gone.");
  const failed = { ...done, state: "failed", sentence: "The disk is full." } as const;
  assert.equal(gatheredSentence(failed), "The reports were not downloaded: The disk is full.");
});

test("a message says why nothing was gathered, or can be opened", () => {
  const sentence = "No worker matches *x*. Known classes: Learner, Rollout.";
  const nobody = profiledRun({ state: "gathered", workers: [], sentence });
  assert.equal(gatheredSentence(nobody), `No report was downloaded. ${sentence}`);
  const idle = profiledRun({ state: "gathered" });
  assert.equal(gatheredSentence(idle), "No report was downloaded. Nothing was recorded.");
  const said = (run: ProfiledRun): string => noReportSentence([run], { runs: [run] });
  assert.equal(said(nobody), gatheredSentence(nobody));
  assert.match(said(profiledRun()), /^No report yet\. Start and stop a recording\./);
  assert.equal(said({ ...nobody, state: "idle" }), `No report yet. ${sentence}`);
});
