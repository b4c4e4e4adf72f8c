// The run of a launch.json, as a draft.
import assert from "node:assert/strict";
import { test } from "node:test";

import { EaglerayError } from "../../extension/common/errors";
import { PLAIN, prepareOf, runsHere, type Draft } from "../../extension/runs/draft";
import { draftOfLaunch } from "../../extension/runs/launch_json";
import { NEW_PROFILE } from "../../extension/runs/profile_options";
import { FOLDER } from "./samples";

test("a program with all options is read", () => {
  const config = {
    program: "/w/train.py",
    args: ["--name", "a b"],
    cwd: "/w/sub",
    env: { A: "1" },
    python: "/usr/bin/python3",
    cluster: "localhost:8265",
    workers: ["*Policy*"],
    ranks: [0, 2],
    breakOnFailure: true,
    children: true,
    watchMinutes: 5,
    preset: "verl",
    profile: { workers: ["*Policy*"], seconds: 5, ranks: [0], nsys: "/opt/bin/nsys" },
  };
  assert.deepEqual(draftOfLaunch(config, FOLDER), {
    path: "/w/train.py",
    args: ["--name", "a b"],
    cwd: "/w/sub",
    kind: "program",
    cluster: "localhost:8265",
    env: { A: "1" },
    workers: ["*Policy*"],
    ranks: [0, 2],
    breakOnFailure: true,
    children: true,
    preset: "verl",
    answers: {},
    python: "/usr/bin/python3",
    stops: true,
    profile: {
      ...NEW_PROFILE,
      workers: ["*Policy*"],
      when: "seconds",
      seconds: 5,
      ranks: [0],
      nsys: "/opt/bin/nsys",
    },
    watchMinutes: 5,
  });
});

test("missing options have the defaults of the form", () => {
  const draft = draftOfLaunch({ module: "pkg.train" }, FOLDER);
  assert.deepEqual(draft, { ...PLAIN, path: "pkg.train", kind: "module", cwd: FOLDER });
});

test("a command precedes its arguments", () => {
  const draft = draftOfLaunch({ command: ["make", "train"], args: ["-j"] }, FOLDER);
  assert.deepEqual([draft.path, draft.kind, draft.args], ["", "command", ["make", "train", "-j"]]);
});

const WRONG: readonly (readonly [object, RegExp])[] = [
  [{}, /has nothing to run/],
  [{ program: "a.py", script: "b.sh" }, /program, script/],
  [{ program: 3 }, /“program” must be a string/],
  [{ program: "a.py", args: "--x" }, /“args” must be a list of strings/],
  [{ program: "a.py", args: [1] }, /“args” must be a list of strings/],
  [{ program: "a.py", ranks: [-1] }, /“ranks” must be a list of integers/],
  [{ program: "a.py", env: { A: 1 } }, /“env” must be an object of strings/],
  [{ program: "a.py", profile: true }, /“profile” must be an object/],
  [{ program: "a.py", profile: {} }, /“profile” needs “workers”/],
  [{ program: "a.py", profile: { workers: ["*"], when: "later" } }, /“when” can’t be “later”/],
  [{ program: "a.py", profile: { workers: ["*"], steps: "5:3" } }, /“steps” must be a range/],
  [
    { program: "a.py", profile: { workers: ["*"], seconds: 0 } },
    /“seconds” must be a positive number/,
  ],
  [
    { program: "a.py", profile: { workers: ["*"], nsys: "bin/nsys" } },
    /“nsys” can’t be “bin\/nsys”/,
  ],
  [{ program: "a.py", children: "yes" }, /“children” must be true or false/],
];

for (const [config, message] of WRONG) {
  test(`${JSON.stringify(config)} is refused in words`, () => {
    assert.throws(
      () => draftOfLaunch(config as Record<string, unknown>, FOLDER),
      (error: unknown) =>
        error instanceof EaglerayError && message.test(error.message) && error.nextStep !== "",
    );
  });
}

test("without debugging no worker stops, and no window tells the run its breakpoints", () => {
  const draft = draftOfLaunch({ program: "a.py", breakOnFailure: true, noDebug: true }, FOLDER);
  const line = { line: 1, condition: "", hit: "", log: "" };
  const {
    workspace,
    breakpoints: sent,
    post_mortem,
  } = prepareOf(draft, FOLDER, [{ path: "/w/a.py", lines: [line] }], null);
  assert.equal(workspace, "");
  assert.deepEqual([sent, post_mortem], [[], false]);
});

test("a draft becomes a request with the breakpoints of the gutter", () => {
  const breakpoints = [{ path: "/w/a.py", lines: [{ line: 1, condition: "", hit: "", log: "" }] }];
  const draft = { ...PLAIN, path: "/w/a.py", cwd: "/w", breakOnFailure: true, answers: { a: "b" } };
  const asked = prepareOf(draft, FOLDER, breakpoints, null);
  assert.equal(asked.preset, "none");
  assert.equal(asked.workspace, FOLDER);
  assert.equal(asked.post_mortem, true);
  assert.deepEqual(asked.breakpoints, breakpoints);
  assert.deepEqual(asked.answers, { a: "b" });
});

const PLACES: readonly [Partial<Draft>, boolean][] = [
  [{ path: "/w/a.py" }, true],
  [{ path: "/w/train.sh", kind: "script" }, true],
  [{ path: "/w/train.sh" }, true],
  [{ path: "/w/train.sub", kind: "sbatch" }, false],
  [{ kind: "job" }, false],
  [{ path: "/w/a.py", cluster: "http://h:8265" }, false],
];

for (const [draft, isHere] of PLACES) {
  test(`${JSON.stringify(draft)} ${isHere ? "starts" : "may not start"} on this machine`, () => {
    assert.equal(runsHere({ ...PLAIN, ...draft }), isHere);
  });
}
