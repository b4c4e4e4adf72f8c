// The recordings of a run with nsys: steps, seconds, the path of nsys, and the classes of several clusters.
import assert from "node:assert/strict";
import { test } from "node:test";

import { mergedClasses } from "../../extension/runs/presets/options_page";
import { isNsysPath, secondsOf, stepsOf, traceOf } from "../../extension/runs/profile_options";

const SEEN = [
  { name: "trainer.PolicyWorker", running: 4, matched_by: "*Policy*" },
  { name: "VllmWorker", running: 0, matched_by: "" },
];

test("steps and seconds are parsed, and invalid ones are rejected", () => {
  assert.deepEqual(["3:5", " 3 : 5 ", "4"].map(stepsOf), ["3:5", "3:5", "4:5"]);
  assert.deepEqual([...new Set(["", "5:3", "3:3", "3-5", "a", "3:"].map(stepsOf))], [undefined]);
  assert.deepEqual(["10", "0,5", "0", "", "x"].map(secondsOf), [
    10,
    0.5,
    undefined,
    undefined,
    undefined,
  ]);
  assert.equal(traceOf(["mpi", "osrt", "cuda"]), "cuda,osrt,mpi");
});

test("nsys on the nodes is named by a whole path or a name, or by nothing", () => {
  const meant = ["", " /opt/cuda 12/bin/nsys ", "~/bin/nsys", "nsys"];
  assert.deepEqual(meant.filter(isNsysPath), meant);
  const unclear = ["bin/nsys", "./nsys", "$CUDA_HOME/bin/nsys"];
  assert.deepEqual(unclear.filter(isNsysPath), []);
});

test("a class of two clusters is listed once", () => {
  const classes = mergedClasses([SEEN, SEEN.slice(0, 1), []]);
  assert.deepEqual(
    classes.map(({ name, running }) => [name, running]),
    [
      ["trainer.PolicyWorker", 8],
      ["VllmWorker", 0],
    ],
  );
});
