// The changes of a preset, as two texts, and the user's agreement to them.
import assert from "node:assert/strict";
import { test } from "node:test";

import { PLAIN } from "../../../extension/runs/draft";
import { agreementOf, reviewTexts } from "../../../extension/runs/presets/review_model";
import { shortened } from "../samples";

test("both texts begin with the text of a dry run, and differ below", () => {
  const { before, after } = reviewTexts(shortened());
  const head = before.slice(0, -shortened().before.length);
  assert.equal(after, head + shortened().after);
  assert.match(head, /# verl 0\.5\. Nothing has been started/);
  const text = ["# It will stop after 2 steps.", "#", "# Will apply", "#   few steps   total = 2"];
  assert.ok(head.endsWith(`\n\n${text.join("\n")}\n\n`));
});

test("agreements are stored without the arguments, which may hold secrets", () => {
  const draft = { ...PLAIN, args: ["--api-key", "x9-never-shown"] };
  const agreement = agreementOf(draft, shortened());
  assert.doesNotMatch(agreement, /x9-never-shown/);
  assert.equal(agreement, agreementOf({ ...draft }, shortened()));
  assert.notEqual(agreement, agreementOf(PLAIN, shortened()));
});
