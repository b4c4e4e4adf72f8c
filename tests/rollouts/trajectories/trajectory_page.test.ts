// The page of trajectories: cells, columns, and the colours of tokens.
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  cellOf,
  columnsOf,
  parsedNumber,
  sizeText,
  spreadText,
} from "../../../extension/rollouts/page/texts";
import {
  coloursOf,
  legendOf,
  modesOf,
  tokenCount,
  tokenTitle,
  VERSION_COLOURS,
} from "../../../extension/rollouts/page/token_colours";
import { columns, page, row, statistics } from "./items";

const NONE = { ids: [], texts: [], mask: [], logprobs: [], trainer_logprobs: [], versions: [] };

for (const [mode, colours] of [
  ["mask", [1, 1, 0, 0, 0]],
  ["logprob", [-1, -1, 0, 2, 4]],
  ["difference", [-1, -1, 0, 2, 4]],
  ["version", [-1, -1, 0, 0, 1]],
  ["advantage", [-1, -1, 0, 1, 2]],
] as const) {
  test(`tokens are coloured by ${mode}, and the legend has each colour`, () => {
    assert.deepEqual(coloursOf(columns(), mode), colours);
    const legend = new Set(legendOf(columns(), mode).map(({ colour }) => colour));
    assert.deepEqual(
      colours.filter((colour) => colour >= 0 && !legend.has(colour)),
      [],
    );
  });
}

test("only columns that exist are colours", () => {
  assert.deepEqual(modesOf(columns()), ["mask", "logprob", "difference", "version", "advantage"]);
  assert.deepEqual(modesOf(columns({ trainer_logprobs: [], versions: [] })), [
    "mask",
    "logprob",
    "advantage",
  ]);
  assert.deepEqual(modesOf({ ...NONE, ids: [1], advantages: [] }), []);
});

test("columns that are shorter than the ids leave tokens without a colour", () => {
  const short = columns({ logprobs: [0, 0, null], trainer_logprobs: [] });
  assert.deepEqual(coloursOf(short, "logprob"), [-1, -1, -1, -1, -1]);
  assert.deepEqual(coloursOf(short, "difference"), [-1, -1, -1, -1, -1]);
  assert.equal(tokenCount(short), 5);
});

test("many versions share colours", () => {
  const versions = Array.from({ length: 9 }, (_, at) => at);
  const many = { ...columns({ versions, mask: [] }), ids: versions };
  assert.equal(Math.max(...coloursOf(many, "version")), VERSION_COLOURS - 1);
});

test("the title of a token has its values", () => {
  assert.equal(
    tokenTitle(columns(), 2),
    "token 7 · logprob -0.01 · trainer's logprob -0.011 · version 7 · advantage 0.5",
  );
  assert.equal(tokenTitle({ ...NONE, ids: [3], advantages: [] }, 0), "token 3");
});

test("cells show numbers, a range of versions, and what is wrong", () => {
  const shown = row(3, { problem: "broken\nline", reward: null, truncated: true });
  assert.equal(cellOf(shown, "versions"), "3–4");
  assert.equal(cellOf(shown, "reward"), "–");
  assert.equal(cellOf(shown, "note"), "broken line");
  assert.equal(cellOf(row(1, { truncated: true }), "note"), "cut");
  assert.equal(cellOf(row(1, { reward: 0.123456789 }), "reward"), "0.123457");
});

test("columns without a value are left out", () => {
  const plain = row(1, { tokens: null, first_version: null, last_version: null, step: 7 });
  assert.deepEqual(columnsOf([plain]), ["item", "reward", "step", "prompt", "completion"]);
});

test("the size says how far the file was read", () => {
  assert.equal(sizeText(page()), "340 lines so far · 2 files · 1,000 MB");
  const whole = page({ complete: true, items: 81_174, files: 1, size: 2.34e6 });
  assert.equal(sizeText(whole), "81,174 lines · 1 file · 2.3 MB");
  const small = page({ complete: true, items: 3, files: 1, size: 640 });
  assert.equal(sizeText(small), "3 lines · 1 file · 0.6 kB");
});

test("a spread has six digits, none without values", () => {
  const { rewards } = statistics();
  assert.equal(spreadText(rewards), "min 0, mean 0.412346, p50 0, p90 1, max 1");
  assert.equal(spreadText({ ...rewards, count: 0 }), "–");
});

for (const [text, value] of [
  ["", null],
  [" 0.5 ", 0.5],
  ["-1e3", -1000],
  ["x", undefined],
  ["Infinity", undefined],
] as const) {
  test(`the field “${text}” is ${String(value)}`, () => {
    assert.equal(parsedNumber(text), value);
  });
}
