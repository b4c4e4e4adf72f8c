import assert from "node:assert/strict";
import { test } from "node:test";

import { Backoff } from "../../extension/common/backoff";
import { duration, labelRoom, plain, shortened } from "../../extension/common/texts";

const PLAIN: readonly (readonly [string, string])[] = [
  ["PolicyWorker_0", "PolicyWorker_0"],
  ["two\nlines\r\nand\ta tab", "two lines and a tab"],
  ["\u001b[31mred\u001b[0m", "[31mred [0m"],
  ["$(trash) gone", "$\u200b(trash) gone"],
  ["[click](command:evil)", "[click]\u200b(command:evil)"],
  ["left\u202eright", "left right"],
  ["Gedächtnis 🦅", "Gedächtnis 🦅"],
  ["a\u2028b", "a b"],
  ["", ""],
];

for (const [text, expected] of PLAIN) {
  test(`plain ${JSON.stringify(text)}`, () => {
    assert.equal(plain(text), expected);
  });
}

test("plain is cut to its limit", () => {
  assert.equal(plain("x".repeat(1000), 10), `${"x".repeat(9)}…`);
});

const DURATIONS: readonly (readonly [number, string])[] = [
  [-1, "0 s"],
  [0.4, "0 s"],
  [59.9, "59 s"],
  [60, "1 m"],
  [3599, "59 m 59 s"],
  [3600, "1 h"],
  [7500, "2 h 5 m"],
  [90_000, "1 d 1 h"],
  [172_800, "2 d"],
];

for (const [seconds, expected] of DURATIONS) {
  test(`${seconds} seconds are ${expected}`, () => {
    assert.equal(duration(seconds), expected);
  });
}

test("a long name loses its middle, not its end", () => {
  assert.equal(shortened("policy-0", 8), "policy-0");
  assert.equal(shortened("WorkerDict_ActorRolloutRefWorker_0:3", 16), "WorkerDi…ker_0:3");
});

test("a label leaves its description room, and keeps some itself", () => {
  assert.ok(labelRoom("rank 12 · 2 h 5 m", 1) > 14);
  assert.ok(labelRoom("rank 12 · 2 h 5 m", 0) > labelRoom("rank 12 · 2 h 5 m", 1));
  assert.equal(labelRoom("x".repeat(200), 0), 12);
});

test("the back-off doubles up to a limit, and starts anew after a healthy run", () => {
  const backoff = new Backoff();
  const waits = Array.from({ length: 8 }, () => backoff.next(10));
  assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  assert.equal(backoff.next(61_000), 500);
});
