// The name of a worker, and texts of several ranks.
import assert from "node:assert/strict";
import { test } from "node:test";

import { namesRank, rankRanges, workerName } from "../../../extension/debug/workers/names";

test("a worker is named with its rank, a driver without", () => {
  assert.equal(workerName({ name: "policy-0", rank: 0 }), "policy-0 (rank 0)");
  assert.equal(workerName({ name: "driver · train.py", rank: null }), "driver · train.py");
});

const RANGES: readonly (readonly [readonly number[], string])[] = [
  [[], ""],
  [[3], "3"],
  [[1, 3], "1, 3"],
  [[4, 3], "3, 4"],
  [[9, 0, 1, 2, 3, 4, 5, 6, 6], "0-6, 9"],
  [[10, 2, 1], "1, 2, 10"],
];
for (const [ranks, text] of RANGES) {
  test(`ranks ${ranks.join()} are written as “${text}”`, () => {
    assert.equal(rankRanges(ranks), text);
  });
}

const NAMES: readonly (readonly [string, number | null, boolean])[] = [
  ["policy-3", 3, true],
  ["policy-03", 3, true],
  ["policy-13", 3, false],
  ["policy", 3, false],
  ["policy", null, true],
];
for (const [name, rank, names] of NAMES) {
  test(`${name} ${names ? "has" : "lacks"} rank ${rank}`, () => {
    assert.equal(namesRank(name, rank), names);
  });
}
