// The sample project: its files, its breakpoint, and what the editor opens.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { breakpointLine, DRIVER, WORKER } from "../../extension/first_run/sample_model";

const read = (name: string): string =>
  readFileSync(join(process.cwd(), "samples", "rl_training", name), "utf8");

test("the breakpoint of the sample is in the method of its workers", () => {
  const lines = read(WORKER).split("\n");
  assert.match(lines[breakpointLine(lines.join("\n"))] ?? "", /^ {8}loss = /);
});

test("a changed file without that line has its breakpoint at the top", () => {
  assert.equal(breakpointLine("import ray\n"), 0);
});

test("the sample has no breakpoint() and starts its workers", () => {
  assert.doesNotMatch(read(WORKER) + read(DRIVER), /breakpoint\(\)/);
  assert.match(read(DRIVER), /PolicyWorker/);
});
