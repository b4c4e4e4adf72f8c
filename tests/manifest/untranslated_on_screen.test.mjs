// The run in the pseudo-language finds what is shown in English.
import assert from "node:assert/strict";
import { test } from "node:test";

import { pseudo } from "../../scripts/texts/pseudo.mjs";
import { untranslated, untranslatedWords } from "../vscode/translations/untranslated.mjs";

test("a text in English is found beside and inside translated ones", () => {
  const planted = ["No worker is paused.", `${pseudo("Runs")} ended`, "⟦Ćōńţĩńũē: Pause⟧"];
  assert.deepEqual(untranslated([...planted, pseudo("Nothing to find"), planted[0]]), planted);
  assert.deepEqual(untranslatedWords(planted[2]), ["Pause"]);
});

test("names, files, addresses and numbers are in no language", () => {
  const fixed = ["Eagleray", "train.py:12", "127.0.0.1:8265", "/tmp/my/file", "--steps 3", "5 s"];
  assert.deepEqual(untranslated(fixed), []);
});
