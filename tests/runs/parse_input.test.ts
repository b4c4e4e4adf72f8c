// Words, patterns and ranks that a person types.
import assert from "node:assert/strict";
import { test } from "node:test";

import { patternsOf, ranksOf, textOf, argsOf } from "../../extension/runs/parse_input";

const WORDS: readonly (readonly [string, readonly string[] | undefined])[] = [
  ["", []],
  ["  --steps  3 ", ["--steps", "3"]],
  ["'a b' \"c d\" e\\ f", ["a b", "c d", "e f"]],
  ['data.files=\'["a","b"]\'', ['data.files=["a","b"]']],
  ['x="say \\"hi\\"" \'\'', ['x=say "hi"', ""]],
  ["$HOME *.py a=b,c", ["$HOME", "*.py", "a=b,c"]],
  ["'open", undefined],
  ['a "open', undefined],
  ["end\\", undefined],
];

for (const [text, words] of WORDS) {
  test(`the words of ${text === "" ? "nothing" : text}`, () => {
    assert.deepEqual(argsOf(text), words);
  });
}

test("arguments round-trip through text", () => {
  const words = ["a b", "it's", "", "x=[1,2]", '"q"', "\\", "$(rm)", "中 文", "a\nb", "*"];
  assert.deepEqual(argsOf(textOf(words)), words);
});

test("patterns are separated by commas, and empty ones are none", () => {
  assert.deepEqual(patternsOf(" *Policy*, train_* ,,"), ["*Policy*", "train_*"]);
});

const RANKS: readonly (readonly [string, readonly number[] | null | undefined])[] = [
  ["", null],
  ["0", [0]],
  ["3, 0-2, 2", [0, 1, 2, 3]],
  ["2-1", undefined],
  ["-1", undefined],
  ["0-999999", undefined],
  ["all", undefined],
];

for (const [text, ranks] of RANKS) {
  test(`ranks from “${text}”`, () => {
    assert.deepEqual(ranksOf(text), ranks);
  });
}
