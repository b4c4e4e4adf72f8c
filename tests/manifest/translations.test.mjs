// `npm run check` names the texts that a language lacks, and translations that no longer fit.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { catalogue, missingFrom, mistakesOf } from "../../scripts/texts/catalogue.mjs";

test("a missing, an obsolete and a changed translation are named", () => {
  const lists = {
    manifest: { "command.stop": "Stop" },
    extension: ["{0} of [a](command:b)"],
    python: ["{n} workers", "Help of an option"],
    editor: ["{n} workers"],
    rules: ["A GPU has no {size} of memory left."],
  };
  const translations = {
    "{0} of [a](command:b)": "[a](command:c) {0}",
    "{n} workers": "{n} 个 worker",
    "Help of an option": "选项的帮助",
    Gone: "没有了",
  };
  assert.deepEqual(missingFrom(translations, lists), [
    "A GPU has no {size} of memory left.",
    "Stop",
  ]);
  assert.deepEqual(mistakesOf(translations, lists), [
    "other placeholders, links, icons or code: {0} of [a](command:b) → [a](command:c) {0}",
    "no longer a text: Gone",
  ]);
});

test("the Chinese guide names commands, buttons and kinds as the editor shows them", () => {
  const shown = new Set(Object.values(catalogue()));
  const named = readFileSync("docs/zh-cn/guide.md", "utf8").match(/(?<=「)[^」]+(?=」)/g);
  assert.ok(named.length > 20);
  assert.deepEqual(
    named.filter((name) => !shown.has(name)),
    [],
  );
});
