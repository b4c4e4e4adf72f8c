// When the sidecar is started without being asked, and what the status bar says of it.
import assert from "node:assert/strict";
import { test } from "node:test";

import { statusOf, type StatusInput } from "../../extension/status_bar";
import { ownProcesses, reasonToStart, type StartSigns } from "../../extension/sidecar/auto_start";
import { cluster, clustersOf, pausedWorker, snapshotOf } from "../debug/workers/samples";

const CASES: readonly (readonly [string, Partial<StartSigns>, string | undefined])[] = [
  ["nothing", {}, undefined],
  [
    "a remembered cluster",
    { remembered: true, discovery: "off" },
    "this workspace has a remembered cluster",
  ],
  [
    "the variable",
    { discovery: "off", environ: { RAY_API_SERVER_ADDRESS: "x" } },
    "RAY_API_SERVER_ADDRESS is set",
  ],
  ["a dashboard", { environ: { RAY_ADDRESS: "http://h:1" } }, "RAY_ADDRESS names a dashboard"],
  ["a GCS address", { environ: { RAY_ADDRESS: "h:6379" } }, undefined],
  [
    "a head",
    { ownProcesses: () => Promise.resolve(["sh", "gcs_server"]) },
    "a Ray cluster of one’s own runs here",
  ],
  [
    "a head with discovery off",
    { discovery: "off", ownProcesses: () => Promise.resolve(["gcs_server"]) },
    undefined,
  ],
];

for (const [name, changes, expected] of CASES) {
  test(`the reason to start: ${name}`, async () => {
    const signs: StartSigns = {
      environ: {},
      remembered: false,
      discovery: "own",
      ownProcesses: () => Promise.resolve([]),
      ...changes,
    };
    assert.equal(await reasonToStart(signs), expected);
  });
}

test("the processes of this machine include the one that asks", async () => {
  assert.equal((await ownProcesses()).length > 0, true);
});

const NONE = clustersOf([]);

function status(changes: Partial<StatusInput>): ReturnType<typeof statusOf> {
  const present: StatusInput = {
    state: "ready",
    clusters: clustersOf([cluster()]),
    paused: snapshotOf([]),
    hasRuns: false,
    inFront: undefined,
  };
  return statusOf({ ...present, ...changes });
}

const WAITING = snapshotOf([
  pausedWorker(),
  pausedWorker({ worker_id: "c" }),
  pausedWorker({ worker_id: "b", state: "held" }),
]);

test("the status bar counts waiting workers, marked, and lists them on a click", () => {
  const { text, severity, click } = status({ paused: WAITING });
  assert.deepEqual(
    [text, severity, click],
    ["$(debug-pause) 2 paused · 1 held", "warning", "workers"],
  );
});

test("the status bar names the debugged worker, and how many more are paused", () => {
  const worker = WAITING.groups[0]?.workers[0]?.worker_id ?? "";
  const inFront = { cluster: "http://c:1", worker, name: "policy-0 $(zap) (rank 0)" };
  const { text, severity, click } = status({ paused: WAITING, inFront });
  assert.deepEqual(
    [text, severity, click],
    ["$(debug-alt) policy-0 $\u200b(zap) (rank 0) · 2 more paused · 1 held", "none", "workers"],
  );
});

test("the status bar says that a worker with a session runs", () => {
  const inFront = { cluster: "http://c:1", worker: "other", name: "policy-0 (rank 0)" };
  const { text, tooltip, click } = status({ paused: WAITING, inFront });
  assert.deepEqual(
    [text, click],
    ["$(debug-alt) policy-0 (rank 0) · running · 2 more paused · 1 held", "workers"],
  );
  assert.match(
    tooltip,
    /^policy-0 \(rank 0\) runs until its next breakpoint\. Click to .* detach\./,
  );
});

test("the status bar names the worker that a session looks inside", () => {
  const name = "alice (looking inside)";
  const inFront = { cluster: "", worker: "", name, isInspected: true };
  const { text, click } = status({ paused: WAITING, inFront });
  assert.deepEqual([text, click], ["$(eye) alice (looking inside) · running", "workers"]);
});

test("the status bar shows nothing where nothing uses Ray", () => {
  assert.equal(status({ state: "idle" }).text, "");
  assert.equal(status({ clusters: NONE }).text, "");
  assert.equal(status({ clusters: NONE, hasRuns: true }).text, "$(eagleray-ray) Ray");
});

test("texts of a cluster draw no icons and links in the status bar", () => {
  const hostile = cluster({ name: "$(trash)\n[a](command:b)", sentence: "$(x)" });
  const { text, tooltip } = status({ clusters: clustersOf([hostile]) });
  assert.equal(text, "$(eagleray-ray) Ray");
  assert.doesNotMatch(tooltip, /\$\(|\]\(/);
});

test("a click on the status bar leads to the fix of a problem", () => {
  const clicks = (["idle", "starting", "no-python", "failed", "unsupported"] as const).map(
    (state) => status({ state }).click,
  );
  assert.deepEqual(clicks, ["panel", "panel", "python", "logs", "logs"]);
});
