// When the sidecar is started without being asked, and what the status bar says of it.
import assert from "node:assert/strict";
import { test } from "node:test";

import { statusOf } from "../../extension/status_bar";
import { ownProcesses, reasonToStart, type StartSigns } from "../../extension/sidecar/auto_start";
import { cluster, clustersOf, pausedWorker, snapshotOf } from "../workers/samples";

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

test("the status bar counts who waits", () => {
  const workers = [pausedWorker(), pausedWorker({ worker_id: "b", state: "held" })];
  const status = statusOf("ready", clustersOf([cluster()]), snapshotOf(workers));
  assert.deepEqual(
    [status.text, status.severity, status.click],
    ["$(debug-pause) 1 paused, 1 held", "warning", "panel"],
  );
});

test("nothing of a cluster stands where icons are drawn", () => {
  const hostile = cluster({ name: "$(trash)\n[a](command:b)", sentence: "$(x)" });
  const status = statusOf("ready", clustersOf([hostile]), snapshotOf([]));
  assert.equal(status.text, "$(debug-pause) Eagleray");
  assert.doesNotMatch(status.tooltip, /\$\(|\]\(/);
});

test("the status bar leads to what mends it", () => {
  const clicks = (["idle", "starting", "no-python", "failed", "unsupported"] as const).map(
    (state) => statusOf(state, NONE, snapshotOf([])).click,
  );
  assert.deepEqual(clicks, ["panel", "panel", "python", "logs", "logs"]);
});
