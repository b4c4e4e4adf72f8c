// The lint of texts for users finds planted ones in bad style.
import assert from "node:assert/strict";
import { test } from "node:test";

import { mistakesIn, MOST_WORDS, replacedWords } from "../../scripts/texts/style.mjs";

const LONG = "One two three four five six seven eight nine ten eleven twelve thirteen.";

test("a long sentence is a mistake, several short ones are none", () => {
  assert.deepEqual(mistakesIn(LONG), [`a sentence of 13 words, not ${MOST_WORDS}`]);
  assert.deepEqual(mistakesIn(LONG.replace(" six", ". Six")), []);
});

test("code and the target of a link are one word", () => {
  const text = "Run `a b c d e f g h i j k l` or [open it](command:a b c d e f g h).";
  assert.deepEqual(mistakesIn(text), []);
});

test("a word that the glossary replaces is a mistake", () => {
  assert.match(mistakesIn("It is tried again by itself.").join(), /“by itself”/);
  assert.match(mistakesIn("The worker Stands at line 3.").join(), /“stands”/);
  assert.deepEqual(mistakesIn("An understanding of standards"), []);
  assert.ok(replacedWords().includes("of yours"));
});
