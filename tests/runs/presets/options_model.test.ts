// The fields of the options page without an editor: mistakes, dependencies, the diff, and the way from and to drafts.
import assert from "node:assert/strict";
import { test } from "node:test";

import { freeName, withConfiguration } from "../../../extension/runs/presets/launch_file";
import {
  configurationOf,
  draftOfForm,
  formOf,
} from "../../../extension/runs/presets/options_drafts";
import { formFrom, fromPage } from "../../../extension/runs/presets/options_messages";
import {
  folded,
  kindsOf,
  lineDiff,
  mistakesOf,
  moduleOf,
  nsysOptionsOf,
  variablesOf,
  withKind,
  withPattern,
  type OptionsForm,
} from "../../../extension/runs/presets/options_model";
import { PLAIN, type Draft } from "../../../extension/runs/draft";
import { draftOfLaunch } from "../../../extension/runs/launch_json";
import { recordNote } from "../../../extension/runs/presets/page/names";
import { NEW_PROFILE } from "../../../extension/runs/profile_options";

const DRAFT: Draft = { ...PLAIN, path: "/w/train.py", cwd: "/w" };
const FORM = formOf(DRAFT);

const FULL: Draft = {
  ...DRAFT,
  kind: "program",
  args: ["--name", "a b", "it's"],
  cluster: "http://c:1",
  env: { A: "1", B: "x=y" },
  workers: ["*Policy*", "x"],
  ranks: [0, 2],
  breakOnFailure: true,
  children: true,
  preset: "verl",
  answers: { steps: "5" },
  python: "/usr/bin/python3",
  watchMinutes: 2.5,
  profile: {
    ...NEW_PROFILE,
    workers: ["*P*"],
    ranks: [1],
    when: "steps",
    steps: "3:5",
    options: { sample: "none", stats: "" },
    nsys: "/opt/nsys",
    output: "/out",
  },
};

test("a draft becomes a form and the same draft again", () => {
  for (const draft of [DRAFT, FULL, { ...FULL, stops: false }]) {
    assert.deepEqual(draftOfForm(formOf(draft)), draft);
  }
});

test("a command is one line of words", () => {
  const form = formOf({ ...PLAIN, args: ["make", "a b"] });
  assert.deepEqual([form.kind, form.args], ["command", "make 'a b'"]);
  const { path, kind, args } = draftOfForm(form);
  assert.deepEqual([path, kind, args], ["", "", ["make", "a b"]]);
  const executable = formOf({ ...PLAIN, path: "/w/run", kind: "command", args: ["x"] });
  assert.equal(executable.args, "/w/run x");
});

const MISTAKES: readonly (readonly [Partial<OptionsForm>, string, string])[] = [
  [{ path: " " }, "path", "noProgram"],
  [{ args: "'a" }, "args", "openQuote"],
  [{ kind: "command", args: " " }, "args", "noCommand"],
  [{ env: "A=1\nB" }, "env", "badVariable"],
  [{ watchMinutes: "-1" }, "watchMinutes", "badNumber"],
  [{ ranks: "x" }, "ranks", "badRanks"],
  [{ record: true }, "recordWorkers", "noRecordWorkers"],
  [{ record: true, recordWorkers: "*", when: "steps" }, "steps", "badSteps"],
  [{ record: true, recordWorkers: "*", when: "seconds", seconds: "0" }, "seconds", "badSeconds"],
  [{ record: true, recordWorkers: "*", recordRanks: "5-2" }, "recordRanks", "badRanks"],
  [{ record: true, recordWorkers: "*", trace: [] }, "trace", "noTrace"],
  [{ record: true, recordWorkers: "*", nsys: "bin/nsys" }, "nsys", "badNsys"],
  [{ record: true, recordWorkers: "*", nsysOptions: "x" }, "nsysOptions", "badNsysOption"],
];

for (const [changes, field, mistake] of MISTAKES) {
  test(`${JSON.stringify(changes)} has the mistake ${mistake}`, () => {
    assert.deepEqual([...mistakesOf({ ...FORM, ...changes })], [[field, mistake]]);
  });
}

test("fields that don’t matter have no mistakes", () => {
  assert.deepEqual([...mistakesOf(FORM)], []);
  assert.deepEqual([...mistakesOf({ ...FORM, recordRanks: "x", steps: "x" })], []);
  const recorded = { ...FORM, record: true, recordWorkers: "*", ranks: "x" };
  assert.deepEqual([...mistakesOf(recorded)], []);
});

test("variables are lines, and options of nsys are words", () => {
  assert.deepEqual(variablesOf("A=1\n\n B =2"), undefined);
  assert.deepEqual(variablesOf("A=1\n\n B=2=3\n"), { A: "1", B: "2=3" });
  assert.deepEqual(nsysOptionsOf("--sample=none -t=cuda --x"), {
    sample: "none",
    t: "cuda",
    x: "",
  });
  assert.equal(nsysOptionsOf("sample"), undefined);
});

test("a Python file can be run as a module, a script can be submitted, and a command is a command", () => {
  assert.deepEqual(kindsOf(FORM), ["", "program", "module", "command"]);
  assert.deepEqual(kindsOf({ ...FORM, file: "/v/train.py" }), ["", "program", "command"]);
  assert.deepEqual(kindsOf({ ...FORM, file: "/w/a.sh" }), ["", "script", "sbatch", "command"]);
  assert.deepEqual(kindsOf(formOf(PLAIN)), ["command"]);
  assert.equal(moduleOf("/w/pkg/train.py", "/w"), "pkg.train");
});

test("a module goes by its name, and the file comes back with another kind", () => {
  const module = withKind(FORM, "module");
  assert.deepEqual([module.kind, module.path], ["module", "train"]);
  assert.equal(withKind(module, "program").path, "/w/train.py");
  assert.equal(withKind({ ...FORM, path: "other.py" }, "module").path, "other.py");
});

test("a class is added to patterns, and taken away again", () => {
  assert.equal(withPattern("*Policy*", "Vllm"), "*Policy*, Vllm");
  assert.equal(withPattern("*Policy*, Vllm", "*Policy*"), "Vllm");
});

test("the diff marks lines that are gone and that came, and folds the others", () => {
  const lines = lineDiff("a\nb\nc\nd\n", "a\nx\nc\nd\ne\n");
  assert.deepEqual(
    lines.map(({ mark, text }) => mark + text),
    [" a", "-b", "+x", " c", " d", "+e"],
  );
  const long = Array.from({ length: 20 }, (_, at) => `${at}`).join("\n");
  const shown = folded(lineDiff(long, `${long}\nnew`), 1);
  assert.deepEqual(shown, [19, { mark: " ", text: "19" }, { mark: "+", text: "new" }]);
  assert.deepEqual(lineDiff("", ""), []);
});

test("a diff of long texts ends at once", () => {
  const text = (name: string): string =>
    Array.from({ length: 5000 }, (_, at) => `${name} ${at}`).join("\n");
  assert.equal(lineDiff(text("a"), text("b")).length, 10_000);
});

test("launch.json of a draft starts the same", () => {
  for (const draft of [
    { ...FULL, preset: "verl" },
    { ...DRAFT, kind: "program" as const },
  ]) {
    const config = configurationOf(draft, "x");
    assert.deepEqual(draftOfLaunch(config, "/other"), draft);
  }
  const command = configurationOf({ ...PLAIN, args: ["make", "x"], cwd: "/w" }, "x");
  assert.deepEqual(command["command"], ["make", "x"]);
});

test("a configuration is added to launch.json whatever it looks like", () => {
  const config = { name: "new" };
  assert.deepEqual(JSON.parse(withConfiguration("", config) ?? ""), {
    version: "0.2.0",
    configurations: [config],
  });
  const nested =
    '{"inputs": [{"configurations": [1]}], /* "configurations": [ */ "configurations":[2]}';
  const text = withConfiguration(nested, config) ?? "";
  assert.match(text, /"configurations": \[1\]/);
  assert.deepEqual(JSON.parse(text.replace(/\/\*.*\*\//, "")), {
    inputs: [{ configurations: [1] }],
    configurations: [config, 2],
  });
  assert.equal(withConfiguration("{}", config), undefined);
  assert.equal(withConfiguration("[", config), undefined);
  assert.equal(freeName('{"name": "a"}, {"name": "a (2)"}', "a"), "a (3)");
});

test("only a whole and valid form is taken from the page", () => {
  assert.deepEqual(formFrom({ ...FORM, more: 1 }), FORM);
  const strange = [null, [], {}, { ...FORM, args: 1 }, { ...FORM, when: "later" }];
  const texts = [
    { ...FORM, trace: [1] },
    { ...FORM, answers: { a: 1 } },
  ];
  const long = [{ ...FORM, args: "x".repeat(100_001) }];
  for (const value of [...strange, ...texts, ...long]) {
    assert.equal(formFrom(value), undefined);
  }
  assert.deepEqual(fromPage({ kind: "ready", more: 1 }), { kind: "ready" });
  assert.equal(fromPage({ kind: "start", form: FORM }), undefined);
  const start = { kind: "start", number: 3, form: FORM } as const;
  assert.deepEqual(fromPage(start), start);
});

test("the heading of the recording has its workers and its moment, with the seconds", () => {
  const recorded = { ...FORM, record: true, recordWorkers: "PolicyWorker" };
  const note = (changes: Partial<OptionsForm>): string => recordNote({ ...recorded, ...changes });
  assert.equal(note({ when: "seconds", seconds: " 10 " }), "PolicyWorker · 10 s from the start");
  assert.equal(
    note({ when: "seconds", seconds: "" }),
    "PolicyWorker · Some seconds from the start",
  );
  assert.equal(note({ when: "always" }), "PolicyWorker · From start to end");
  assert.equal(note({ record: false }), "");
});
