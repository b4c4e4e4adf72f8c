// The resources that the page of a report may load, and the effect of keys in its tables.
import assert from "node:assert/strict";
import { test } from "node:test";

import { movedTo, sortedBy } from "../../../extension/page/frame/grid";
import { pageDocument } from "../../../extension/page/document";

const PARTS = {
  script: "s.js",
  style: "s.css",
  source: "https://src",
  nonce: "n0nce",
  translations: "{}",
};

test("the page loads one script and one style of ours, and nothing else", () => {
  const page = pageDocument({ ...PARTS, title: "a" });
  const [, policy = ""] = /Content-Security-Policy" content="([^"]*)"/.exec(page) ?? [];
  assert.deepEqual(policy.split("; "), [
    "default-src 'none'",
    "script-src 'nonce-n0nce'",
    "style-src https://src",
    "base-uri 'none'",
    "form-action 'none'",
  ]);
  assert.deepEqual(page.match(/<script[^>]*>[^<]*/g), ['<script nonce="n0nce" src="s.js">']);
  assert.doesNotMatch(page, /style=|<style|\son\w+=/);
});

test("a file’s name is text in the page", () => {
  const page = pageDocument({ ...PARTS, title: '"></title><script>alert(1)</script>' });
  assert.equal(page.match(/<script/g)?.length, 1);
  assert.match(page, /<title>&quot;&gt;&lt;\/title&gt;/);
});

test("the texts of the editor’s language are in the page, as data", () => {
  const translations = JSON.stringify({ Cancel: '"><script>' });
  const page = pageDocument({ ...PARTS, title: "a", translations });
  assert.equal(page.match(/<script/g)?.length, 1);
  assert.match(
    page,
    /data-translations="\{&quot;Cancel&quot;:&quot;\\&quot;&gt;&lt;script&gt;&quot;\}"/,
  );
});

const MOVES: readonly (readonly [string, boolean, readonly [number, number]])[] = [
  ["ArrowUp", false, [0, 1]],
  ["ArrowDown", false, [2, 1]],
  ["ArrowLeft", false, [1, 0]],
  ["ArrowRight", false, [1, 2]],
  ["PageDown", false, [4, 1]],
  ["PageUp", false, [0, 1]],
  ["Home", false, [1, 0]],
  ["End", false, [1, 2]],
  ["Home", true, [0, 0]],
  ["End", true, [4, 2]],
];

for (const [key, ctrlKey, [row, column]] of MOVES) {
  test(`${ctrlKey ? "Ctrl+" : ""}${key} leads from the middle to row ${row}, column ${column}`, () => {
    assert.deepEqual(movedTo({ key, ctrlKey }, { row: 1, column: 1 }, 5, 3), { row, column });
  });
}

test("no key leads out of the table, and others lead nowhere", () => {
  assert.deepEqual(movedTo({ key: "ArrowUp", ctrlKey: false }, { row: 0, column: 0 }, 5, 3), {
    row: 0,
    column: 0,
  });
  assert.equal(movedTo({ key: "a", ctrlKey: false }, { row: 0, column: 0 }, 5, 3), undefined);
});

test("a heading sorts numbers from the largest and names from A, and turns round at the second time", () => {
  const now = { sort: "total", descending: true };
  assert.deepEqual(sortedBy({ id: "count", isNumber: true }, now), {
    sort: "count",
    descending: true,
  });
  assert.deepEqual(sortedBy({ id: "name", isNumber: false }, now), {
    sort: "name",
    descending: false,
  });
  assert.deepEqual(sortedBy({ id: "total", isNumber: true }, now), {
    sort: "total",
    descending: false,
  });
});
