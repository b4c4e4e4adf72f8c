import assert from "node:assert/strict";
import { test } from "node:test";

import {
  expressionAt,
  functionStart,
  namesIn,
} from "../../../extension/observe/look_inside/value_expressions";
import {
  byteSize,
  figure,
  kindLine,
  rampColour,
  sampleSentence,
} from "../../../extension/observe/look_inside/page/figures";

const PROGRAM = `import torch

def other(x):
    return x

def train(model, batch):
    """Trains
    the model."""
    loss = model(batch["ids"]).mean()  # loss
    for step in range(3):
        loss = loss * step
        print(f"loss", self.rank, end="")
`.split("\n");
const lineAt = (line: number): string => PROGRAM[line] ?? "";

test("expression at the cursor has what leads to the name, and the whole item in brackets", () => {
  const line = "y = self.batch['ids'][0].grad + z";
  const at = (text: string): string => expressionAt(line, line.indexOf(text) + 1);
  assert.equal(at("self"), "self");
  assert.equal(at("batch"), "self.batch");
  assert.equal(at("grad"), "self.batch['ids'][0].grad");
  assert.equal(at("ids"), "self.batch['ids'][0].grad");
  assert.equal(at("z"), "z");
  assert.equal(expressionAt("   ", 1), "");
});

test("names of the function are listed up to the stop, without texts, comments, attributes and keywords", () => {
  const start = functionStart(lineAt, 11);
  assert.equal(start, 5);
  const names = namesIn(lineAt, start, 11).map(({ name, line }) => `${name}:${line + 1}`);
  assert.deepEqual(names, [
    ...["train:6", "model:6", "batch:6", "loss:9", "model:9", "batch:9"],
    ...["step:10", "range:10", "loss:11", "step:11", "print:12", "end:12"],
  ]);
});

test("line outside of a function starts at itself", () => {
  assert.equal(functionStart(lineAt, 0), 0);
});

test("numbers have six digits, and text stays", () => {
  assert.deepEqual([0.42131313, 1e-9, 12345678, 1.5e12, 0, "nan", null].map(figure), [
    "0.421313",
    "1e-9",
    "12345678",
    "1.5e+12",
    "0",
    "nan",
    "–",
  ]);
  assert.deepEqual([0, 512, 16_384, 10 * 2 ** 30].map(byteSize), [
    "0 B",
    "512 B",
    "16 KiB",
    "10 GiB",
  ]);
});

test("kind of a value has its shape, and a sample is named", () => {
  const record = { type: "Tensor", shape: [8, 4], dtype: "bfloat16", device: "cuda:0", bytes: 64 };
  assert.equal(kindLine(record), "Tensor (8, 4) · bfloat16 · cuda:0 · 64 B");
  const counted = { count: 1000, of: 2_000_000, nan: 0, inf: 0, zeros: 0, bins: [] };
  const none = { min: null, max: null, mean: null, std: null };
  const sentence = (how: string): string => sampleSentence({ ...counted, ...none, how });
  assert.equal(sentence("all"), "");
  assert.equal(sentence("spread"), "Of a sample: 1,000 of 2,000,000 numbers, spread evenly.");
  assert.equal(sentence("first"), "Of the first 1,000 of 2,000,000 numbers; time was up.");
});

test("colours of an image become lighter with the number", () => {
  const light = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const [red, green, blue] = rampColour(share);
    return 0.21 * red + 0.72 * green + 0.07 * blue;
  });
  assert.deepEqual(
    light,
    light.toSorted((a, b) => a - b),
  );
});
