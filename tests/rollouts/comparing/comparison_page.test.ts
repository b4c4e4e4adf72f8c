// The page of a comparison: figures, and what a cell of the heat map says.
import assert from "node:assert/strict";
import { test } from "node:test";

import { cellSentence, figure, levelOf } from "../../../extension/rollouts/page/comparison/figures";
import { deltaRow } from "./comparisons";

for (const [value, text] of [
  [0, "0"],
  [0.0152345, "0.0152"],
  [-12.345, "-12.3"],
  [1.9412e-4, "1.94e-4"],
  [-1e-9, "-1e-9"],
  [0.001, "0.001"],
] as const) {
  test(`${value} has three digits`, () => {
    assert.equal(figure(value), text);
  });
}

test("a difference has the level of its size, whichever side is larger", () => {
  const deltas = [0, 9e-4, 1e-3, -0.05, 0.1, -1, 7];
  assert.deepEqual(deltas.map(levelOf), [0, 0, 1, 2, 3, 4, 4]);
});

test("a cell is a token, or names the tokens that it stands for", () => {
  const single = deltaRow(3, [0.5, -0.25]);
  assert.equal(cellSentence(single, 1), "Sequence 3, token 1: Δlogp -0.25");
  const folded = deltaRow(3, [0.5, -0.25], { cell_tokens: 4, tokens: 6, at: [2, 5] });
  assert.equal(cellSentence(folded, 0), "Sequence 3, tokens 0 to 3: Δlogp 0.5 at 2");
  assert.equal(cellSentence(folded, 1), "Sequence 3, tokens 4 to 5: Δlogp -0.25 at 5");
});
