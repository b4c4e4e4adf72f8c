// How the test runner reads what the suites wrote: no failed or skipped test gets lost.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import {
  fixedBySecondTry,
  lastLines,
  mergedResults,
  readClosingLine,
  readJunit,
  slowestFirst,
} from "../../scripts/results.mjs";

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

test("the file of pytest has passed, failed and skipped tests", () => {
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

test("the file of node:test has passed and failed tests", () => {
  assert.deepEqual(junit(NODE), {
    passed: ["adds"],
    failed: ["divides"],
    skipped: [],
    reasons: { divides: "no" },
  });
});

test("a suite without a file or closing line has no results", () => {
  assert.equal(readJunit("/nowhere/results.xml"), undefined);
  assert.equal(readClosingLine("Segmentation fault\n"), undefined);
});

test("the output of a script has the numbers of its closing line and the names of its failures", () => {
  const output =
    "  ok one (0.1 s)\n  not ok two\n      at x\nskipped three: no fork\n1 passed, 1 failed\n";
  assert.deepEqual(readClosingLine(output), {
    passed: ["test 1"],
    failed: ["two"],
    skipped: ["three: no fork"],
    reasons: { two: "at x" },
  });
});

test("a failure without a reason does not take the next line as its reason", () => {
  const output = "  not ok one\n  not ok two\n0 passed, 2 failed\n";
  assert.deepEqual(readClosingLine(output).reasons, { one: "", two: "" });
});

test("a long output is cut to its end and says how much is omitted", () => {
  assert.equal(lastLines("one\ntwo\n", 2), "one\ntwo");
  assert.match(lastLines("one\ntwo\nthree\nfour\n", 2), /^\(the 2 lines .*\)\nthree\nfour$/);
});

const FIRST = {
  passed: ["a", "b"],
  failed: ["c", "d"],
  skipped: ["e: no fork"],
  reasons: { c: "x", d: "y" },
};

test("a second try of the failed tests adds those that pass to the results of the first try", () => {
  const second = { passed: ["c"], failed: ["d"], skipped: [], reasons: { d: "z" } };
  assert.deepEqual(mergedResults(FIRST, second, true), {
    passed: ["a", "b", "c"],
    failed: ["d"],
    skipped: ["e: no fork"],
    reasons: { d: "z" },
  });
  assert.deepEqual(fixedBySecondTry(FIRST, second), ["c"]);
});

test("a second try of the whole suite replaces the first try", () => {
  const second = { passed: ["a", "b", "c", "d"], failed: [], skipped: [], reasons: {} };
  assert.deepEqual(mergedResults(FIRST, second, false), second);
  assert.deepEqual(fixedBySecondTry(FIRST, second), ["c", "d"]);
});

test("a second try that crashes fixes nothing", () => {
  const second = { passed: [], failed: ["ended with 1"], skipped: [], reasons: {}, crashed: true };
  assert.deepEqual(fixedBySecondTry(FIRST, second), []);
});

test("durations are listed with the slowest suite first", () => {
  const durations = [
    { name: "check", seconds: 9 },
    { name: "lab", seconds: 410 },
  ];
  assert.deepEqual(slowestFirst(durations), ["  410 s  lab", "    9 s  check"]);
});
