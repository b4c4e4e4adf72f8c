import assert from "node:assert/strict";
import { test } from "node:test";

import {
  cellText,
  factsOf,
  recordingText,
  gpuFacts,
  type Cell,
  type ColumnKind,
} from "../../../extension/profile/reports/page/texts";
import { singleLine } from "../../../extension/page/frame/texts";
import { gpu, report } from "../recordings/samples";

const SHOWN: readonly (readonly [Cell, ColumnKind, string])[] = [
  [0, "ns", "0 ns"],
  [999, "ns", "999 ns"],
  [999.6, "ns", "1.00 µs"],
  [1500, "ns", "1.50 µs"],
  [9_996, "ns", "10.0 µs"],
  [99_960, "ns", "100 µs"],
  [999_499, "ns", "999 µs"],
  [999_600, "ns", "1.00 ms"],
  [-999_600, "ns", "-1.00 ms"],
  [999_600_000, "ns", "1.00 s"],
  [3_600_500_000_000, "ns", "3601 s"],
  [12_345_678, "ns", "12.3 ms"],
  [1_500_000_000, "ns", "1.50 s"],
  [250_000_000_000, "ns", "250 s"],
  [0, "bytes", "0 B"],
  [999, "bytes", "999 B"],
  [1500, "bytes", "1.50 kB"],
  [999_600, "bytes", "1.00 MB"],
  [999_499, "bytes", "999 kB"],
  [80e9, "bytes", "80 GB"],
  [1e9, "rate", "1 GB/s"],
  [0.1234, "share", "12.3 %"],
  [1, "share", "100.0 %"],
  [1_234_567, "count", "1\u202f234\u202f567"],
  [2.5, "count", "2.5"],
  [null, "ns", "–"],
  ["gemm", "text", "gemm"],
  [7, "text", "7"],
];

for (const [cell, kind, words] of SHOWN) {
  test(`${String(cell)} as ${kind} is “${words}”`, () => {
    assert.equal(cellText(cell, kind), words);
  });
}

test("a name is shown whole, on one line, in its own direction", () => {
  assert.equal(singleLine(" a\u001b[1m\r\nb\u202ec "), "a [1m b c");
  assert.equal(singleLine("x".repeat(5000)).length, 5000);
});

test("the facts omit unknown values", () => {
  const names = factsOf(report({ host: "", trace: "", duration_ns: 0 })).map(({ name }) => name);
  assert.deepEqual(names, ["Recorded", "nsys", "Schema", "Size", "File"]);
  assert.equal(factsOf(report())[1]?.value, "2026-11-21 20:15:03 UTC");
});

test("the facts of a GPU show how busy it was, and the share of NCCL", () => {
  assert.deepEqual(gpuFacts(gpu()), [
    "busy 75.0 % (1.50 s)",
    "idle 500 ms",
    "12\u202f347 kernels",
    "NCCL 20.0 % of the busy time (300 ms)",
    "NCCL with nothing beside it 100 ms",
  ]);
  assert.equal(gpuFacts(gpu({ nccl_ns: 0 })).length, 3);
  const unnamed = gpuFacts(gpu({ nccl_ns: null, nccl_alone_ns: null }));
  assert.equal(unnamed.at(-1), "NCCL unknown");
  assert.deepEqual(gpuFacts(gpu({ kernels: 0 })), ["no kernel ran"]);
});

test("below its title a report has its class, node, duration and file", () => {
  const below = (changes: Parameters<typeof report>[0], title: string): string =>
    recordingText(report(changes), title);
  assert.equal(below({}, "policy-3 (rank 3)"), "Policy · node-7 · 2 s · policy.node-7.12.nsys-rep");
  assert.equal(
    below({ worker: "" }, "Policy (rank 3)"),
    "node-7 · 2 s · policy.node-7.12.nsys-rep",
  );
  const unknown = { class_name: "", host: "", duration_ns: 0 };
  assert.equal(below(unknown, "policy.node-7.12.nsys-rep"), "");
});
