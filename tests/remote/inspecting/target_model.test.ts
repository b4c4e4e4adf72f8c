import assert from "node:assert/strict";
import { test } from "node:test";

import type { Row } from "../../../extension/rows";
import {
  choicesOf,
  inspectablesOf,
  keyOf,
  ofArgument,
  sessionName,
  typedPid,
} from "../../../extension/observe/look_inside/target_model";
import type { Run, RunWorkerStatus } from "../../../extension/runs/messages";
import type { LiveWorker } from "../../../extension/debug/workers/messages";

const worker = {
  cluster: "http://head:8265",
  worker_id: "w1",
  name: "policy-3",
  kind: "actor",
  class_name: "Policy",
  rank: null,
  state: "running",
  running: "",
  node_id: "n1",
  node_ip: "10.0.0.3",
  pid: 4711,
  job_id: "",
  actor_id: "",
} as LiveWorker;
const driver = { worker_id: "d1", pid: 99, kind: "driver", name: "train.py" } as RunWorkerStatus;
const run = (more: Partial<Run>): Run =>
  ({ id: "r1", name: "train.py", kind: "program", cluster: "", workers: [driver], ...more }) as Run;
const rowsOf = (...rows: object[]): readonly Row[] => rows as Row[];

test("rows of workers name the process and its node", () => {
  assert.deepEqual(inspectablesOf(rowsOf({ row: "anyWorker", worker })), [
    {
      target: {
        cluster: "http://head:8265",
        node_id: "n1",
        worker_id: "w1",
        pid: 4711,
        name: "policy-3",
      },
      run: "",
    },
  ]);
});

test("an actor without a process and other rows name none", () => {
  const pending = { ...worker, pid: 0 };
  const rows = rowsOf({ row: "anyWorker", worker: pending }, { row: "cluster" });
  assert.deepEqual(inspectablesOf(rows), []);
});

test("a worker of a run can be paused by its debugger", () => {
  const [inspectable] = inspectablesOf(rowsOf({ row: "runWorker", run: run({}), worker: driver }));
  assert.deepEqual(inspectable, {
    target: { cluster: "", worker_id: "d1", pid: 99, name: "train.py", pausable: true },
    run: "r1",
  });
});

test("a process of a batch job without a cluster is on an unknown node", () => {
  const rows = rowsOf({ row: "runWorker", run: run({ kind: "sbatch" }), worker: driver });
  assert.deepEqual(inspectablesOf(rows), []);
});

test("another feature names a process by cluster, node and PID", () => {
  const named = ofArgument({ cluster: "http://head:8265", node: "n1", pid: 5, rank: 3 });
  assert.deepEqual(named?.target, {
    cluster: "http://head:8265",
    node_id: "n1",
    pid: 5,
    name: "rank 3",
  });
  assert.equal(ofArgument({ pid: 5 })?.target.name, "process 5");
  assert.equal(ofArgument({ pid: 5, name: "trainer\u202e" })?.target.name, "trainer");
});

test("an argument without a PID, and a row, name nothing", () => {
  for (const argument of [undefined, null, "5", {}, { pid: "5" }, { pid: -1 }, { pid: 1.5 }]) {
    assert.equal(ofArgument(argument), undefined);
  }
  assert.equal(ofArgument({ row: "anyWorker", pid: 5 }), undefined);
});

test("only a positive number is a PID", () => {
  assert.equal(typedPid(" 4711 "), 4711);
  for (const typed of ["", "0", "-1", "1.5", "abc", "99999999999"]) {
    assert.equal(typedPid(typed), undefined);
  }
});

test("a worker that both lists have is offered once, and idle ones not at all", () => {
  const ofRun = { ...driver, worker_id: "w1", pid: 4711, name: "policy-3" };
  const idle = { ...worker, worker_id: "w2", kind: "idle" } as LiveWorker;
  const other = { ...worker, worker_id: "w3", name: "policy-4", pid: 4712 };
  const labels = choicesOf([run({ workers: [ofRun] })], [worker, idle, other]).map(
    ({ label, description }) => `${label}: ${description}`,
  );
  assert.deepEqual(labels, [
    "policy-3: train.py · process 4711",
    "policy-4: 10.0.0.3 · process 4712",
  ]);
});

test("sessions are named after the worker, and known by their process", () => {
  assert.equal(sessionName("policy-3"), "policy-3 (looking inside)");
  const [inspectable] = inspectablesOf(rowsOf({ row: "anyWorker", worker }));
  assert.equal(inspectable && keyOf(inspectable), "http://head:8265 n1 4711");
});
