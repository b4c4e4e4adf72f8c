// How the test runner reads what the suites wrote: nothing that failed or was skipped gets lost.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { lastLines, readClosingLine, readJunit } from "../../scripts/results.mjs";

const PYTEST = `<?xml version="1.0"?><testsuites><testsuite name="pytest" tests="4">
<testcase classname="tests.a.test_a" name="test_one" time="0.1" />
<testcase classname="tests.a.test_a" name="test_two[&lt;b&gt; &amp; c]" time="0.1"><failure message="no">trace</failure></testcase>
<testcase classname="tests.a.test_a" name="test_three" time="0"><skipped type="pytest.skip" message="no fork">at</skipped></testcase>
<testcase classname="tests.a.test_a" name="test_four" time="0"><error message="setup">trace</error></testcase>
</testsuite></testsuites>`;

const NODE = `<testsuites><testsuite name="outer">
<testcase name="adds" time="0.01" classname="test"/>
<testcase name="divides" time="0.01" classname="test" failure="no"><failure type="x" message="no">at</failure></testcase>
</testsuite></testsuites>`;

function junit(text) {
  const folder = mkdtempSync(join(tmpdir(), "er-"));
  try {
    const file = join(folder, "results.xml");
    writeFileSync(file, text);
    return readJunit(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("what pytest wrote", () => {
  assert.deepEqual(junit(PYTEST), {
    passed: ["tests.a.test_a test_one"],
    failed: ["tests.a.test_a test_two[<b> & c]", "tests.a.test_a test_four"],
    skipped: ["tests.a.test_a test_three: no fork"],
    reasons: {
      "tests.a.test_a test_two[<b> & c]": "no",
      "tests.a.test_a test_four": "setup",
    },
  });
});

test("what node:test wrote", () => {
  assert.deepEqual(junit(NODE), {
    passed: ["adds"],
    failed: ["divides"],
    skipped: [],
    reasons: { divides: "no" },
  });
});

test("a suite that wrote nothing has no results", () => {
  assert.equal(readJunit("/nowhere/results.xml"), undefined);
  assert.equal(readClosingLine("Segmentation fault\n"), undefined);
});

test("what a script printed: the last closing line, and the names of what failed", () => {
  const output =
    "  ok one (0.1 s)\n  not ok two\n      at x\nskipped three: no fork\n1 passed, 1 failed\n";
  assert.deepEqual(readClosingLine(output), {
    passed: ["test 1"],
    failed: ["two"],
    skipped: ["three: no fork"],
    reasons: { two: "at x" },
  });
});

test("a failure without a reason does not take the next line for one", () => {
  const output = "  not ok one\n  not ok two\n0 passed, 2 failed\n";
  assert.deepEqual(readClosingLine(output).reasons, { one: "", two: "" });
});

test("of a long output the end is shown, with how much is left out", () => {
  assert.equal(lastLines("one\ntwo\n", 2), "one\ntwo");
  assert.match(lastLines("one\ntwo\nthree\nfour\n", 2), /^\(2 lines .*\)\nthree\nfour$/);
});
