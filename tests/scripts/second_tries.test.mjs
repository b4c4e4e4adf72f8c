// Second tries of `npm test`: listed, and a failure where a test needs one again or too many do.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { SecondTries } from "../../scripts/second_tries.mjs";

/** The scripts know their folder by their own address, which a bundle doesn't have. */
const PROGRAM = `
import { suites } from "${join(process.cwd(), "scripts", "suites.mjs")}";
console.log(JSON.stringify(suites.filter(({ secondTry }) => !secondTry).map(({ name }) => name)));
`;

/** Runs `work(run)`, where `run({suite: tests})` is one run of `npm test`, which keeps its list for the next. */
function withRuns(work) {
  const folder = mkdtempSync(join(tmpdir(), "er-"));
  try {
    work((needed) => {
      const tries = new SecondTries(join(folder, "out", "second_tries.json"));
      for (const [suite, tests] of Object.entries(needed)) tries.add(suite, tests);
      tries.save();
      return { names: tries.names(), failures: tries.failures() };
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("three second tries on a fresh checkout are listed and pass", () => {
  withRuns((run) => {
    const { names, failures } = run({ host: ["a", "b"], lab: ["c"], windows: [] });
    assert.deepEqual(names, ["host: a", "host: b", "lab: c"]);
    assert.deepEqual(failures, []);
  });
});

test("a fourth second try fails the run", () => {
  withRuns((run) => {
    const { failures } = run({ host: ["a", "b"], lab: ["c", "d"] });
    assert.deepEqual(failures, ["4 tests needed a second try; at most 3 may"]);
  });
});

test("a second try in two successive runs fails the second run", () => {
  withRuns((run) => {
    run({ host: ["a"] });
    assert.deepEqual(run({ host: ["a", "b"] }).failures, [
      "host: a: needed a second try in the last run too",
    ]);
  });
});

test("a second try in the run before the last does not count", () => {
  withRuns((run) => {
    run({ host: ["a"] });
    run({ host: [] });
    assert.deepEqual(run({ host: ["a"] }).failures, []);
  });
});

test("a test of the same name in another suite does not count", () => {
  withRuns((run) => {
    run({ "host 1.139": ["a"] });
    assert.deepEqual(run({ "host 1.139": [], "host 1.105": ["a"] }).failures, []);
  });
});

test("a run of other suites keeps what a suite needed in its own last run", () => {
  withRuns((run) => {
    run({ host: ["a"] });
    run({ lab: [] });
    assert.equal(run({ host: ["a"] }).failures.length, 1);
  });
});

test("only suites that drive a real editor, cluster or site have a second try", () => {
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", PROGRAM]);
  assert.deepEqual(JSON.parse(output.toString()), [
    "check",
    "unit (TypeScript)",
    "unit (Python)",
    "looks",
    "programs",
    "adapter",
    "processes",
    "pages",
    "hangs",
    "packaging",
  ]);
});
