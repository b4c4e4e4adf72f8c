// Numbers, facts, Markdown and CSV of a report.
import assert from "node:assert/strict";
import { test } from "node:test";

import { csvOf, markdownOf, reportText } from "../../extension/features/profiling/copy_model";
import { factsOf, gpuWords } from "../../extension/features/profiling/facts_model";
import { oneLine } from "../../extension/features/profiling/names_model";
import { shown, type Cell, type Kind } from "../../extension/features/profiling/quantity_model";
import { gpu, HOSTILE, report, table } from "./samples";

const SHOWN: readonly (readonly [Cell, Kind, string])[] = [
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
    assert.equal(shown(cell, kind), words);
  });
}

test("a table as CSV has bare numbers, with their unit in the heading", () => {
  assert.equal(
    csvOf(table()),
    "Kernel,Calls,Total (ns),Share\r\ngemm,12345,1500000,0.75\r\nsoftmax,2,,0.25\r\n",
  );
});

test("commas, quotes and line ends of a name stay in their cell, and a formula is none", () => {
  const [, ...lines] = csvOf(
    table({
      rows: [
        ['f<a, "b">\n', 1, 2, 0],
        ["=1+1", 1, 2, 0],
      ],
    }),
  ).split("\r\n");
  assert.deepEqual(lines, ['"f<a, ""b"">\n",1,2,0', "'=1+1,1,2,0", ""]);
});

for (const sign of ["=", "+", "-", "@", "\t", "＝", "＋", "－", "＠"]) {
  test(`no cell that begins with ${JSON.stringify(sign)} is a formula, nor where “;” parts cells`, () => {
    const csv = csvOf(
      table({
        rows: [
          [`${sign}x`, 1, 2, 0],
          [`f;${sign}x`, 1, 2, 0],
        ],
      }),
    );
    assert.deepEqual(csv.split("\r\n").slice(1, 3), [`'${sign}x,1,2,0`, `f;'${sign}x,1,2,0`]);
  });
}

test("a table as Markdown reads as the page does", () => {
  assert.deepEqual(markdownOf(table()).split("\n"), [
    "| Kernel | Calls | Total | Share |",
    "| --- | ---: | ---: | ---: |",
    "| gemm | 12\u202f345 | 1.50 ms | 75.0 % |",
    "| softmax | 2 | – | 25.0 % |",
    "",
  ]);
});

test("a hostile name is no markup in Markdown, and adds no cell and no line", () => {
  const markdown = markdownOf(table({ rows: [[HOSTILE, 1, 2, 0]] }));
  const [, , row = "", ...rest] = markdown.split("\n");
  assert.deepEqual(rest, [""]);
  assert.equal(row.match(/(?<!\\)\|/gu)?.length, 5);
  assert.doesNotMatch(row, /(?<!\\)[<[`]/u);
  assert.doesNotMatch(row, /[\u001b\u202e]/u);
});

test("a name is shown whole, on one line, in its own direction", () => {
  assert.equal(oneLine(" a\u001b[1m\r\nb\u202ec "), "a [1m b c");
  assert.equal(oneLine("x".repeat(5000)).length, 5000);
});

test("the facts leave out what is not known", () => {
  const names = factsOf(report({ host: "", trace: "", duration_ns: 0 })).map(({ name }) => name);
  assert.deepEqual(names, ["Recorded", "nsys", "Schema", "Size", "File"]);
  assert.equal(factsOf(report())[1]?.value, "2026-11-21 20:15:03 UTC");
});

test("a GPU’s words say how busy it was, and what of that was NCCL", () => {
  assert.deepEqual(gpuWords(gpu()), [
    "busy 75.0 % (1.50 s)",
    "idle 500 ms",
    "12\u202f347 kernels",
    "NCCL 20.0 % of the busy time (300 ms)",
    "NCCL with nothing beside it 100 ms",
  ]);
  assert.equal(gpuWords(gpu({ nccl_ns: 0 })).length, 3);
  assert.deepEqual(gpuWords(gpu({ kernels: 0 })), ["no kernel ran"]);
});

test("the whole summary as Markdown: warnings first, and how many rows are left out", () => {
  const warnings = [{ code: "no-nvtx", message: "No NVTX rows.", next_step: "Compare versions." }];
  const tables = [
    table({ total: 40 }),
    table({ id: "gaps", title: "Gaps", rows: [], note: "None." }),
  ];
  const text = reportText("a_b.nsys-rep", report({ warnings, tables }));
  assert.match(text, /^# a\\_b\.nsys-rep\n\n## Warnings\n\n- No NVTX rows\. Compare versions\.\n/);
  assert.match(text, /- GPU 0 \(H200\): busy 75\.0 %/);
  assert.match(text, /… and 38 more\n/);
  assert.match(text, /## Gaps\n\nNone\.\n/);
});
