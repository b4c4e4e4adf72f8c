// The lines of the form and of the review, without an editor.
import assert from "node:assert/strict";
import { test } from "node:test";

import { PLAIN } from "../../extension/features/runs/draft";
import {
  answered,
  formLines,
  kindsFor,
  moduleOf,
  type FormView,
} from "../../extension/features/presets/form/lines";
import { NEW_PROFILE } from "../../extension/features/runs/profile_options";
import {
  agreementOf,
  reviewLines,
  reviewTexts,
} from "../../extension/features/presets/review_model";
import { cluster, clustersOf } from "../workers/samples";
import { proposal, shortened } from "../runs/samples";

const VIEW: FormView = {
  clusters: clustersOf([cluster({ id: "c", name: "big" })]),
  presets: shortened().presets,
  questions: [],
};
const DRAFT = { ...PLAIN, path: "/w/train.py", cwd: "/w" };

function shown(draft: typeof DRAFT, view = VIEW): readonly (readonly [string, string])[] {
  return formLines(draft, view).map((line) => [line.label, line.description]);
}

test("the form shows each choice, and its first line starts", () => {
  assert.deepEqual(shown({ ...DRAFT, args: ["--name", "a b"] }), [
    ["Start", "/w/train.py --name 'a b'"],
    ["Arguments", "--name 'a b'"],
    ["Run As", "found out"],
    ["Where", "on this machine, as in a terminal"],
    ["Preset", "none"],
    ["Who Stops", "everybody"],
    ["Ranks That Stop", "all"],
    ["Break on Failure", "off"],
    ["Child Processes Too", "off"],
    ["Profile with nsys", "off"],
  ]);
});

test("a profiled run has no stops, and starts once its workers are chosen", () => {
  const profile = { ...NEW_PROFILE, ranks: [0], when: "steps", steps: "3:5" } as const;
  const asked = shown({ ...DRAFT, profile });
  assert.deepEqual(asked.slice(0, 1), [["Arguments", "none"]]);
  assert.deepEqual(asked.slice(-7), [
    ["Profile with nsys", "on"],
    ["Profiled Workers", "choose who"],
    ["When", "steps 3:5"],
    ["Profiled Ranks", "0"],
    ["Trace", "cuda,nvtx,osrt"],
    ["nsys on the Nodes", "looked for on each node"],
    ["Output Folder", "eagleray-profiles, a folder for each run"],
  ]);
  assert.ok(!asked.some(([label]) => label === "Who Stops"));
  const whole = shown({ ...DRAFT, profile: { ...profile, workers: ["*policy*"] } });
  assert.equal(whole[0]?.[0], "Start");
});

test("choices are shown by their names", () => {
  const lines = new Map(
    shown({ ...DRAFT, cluster: "c", preset: "verl", workers: ["*P*", "x"], ranks: [0, 1] }),
  );
  assert.equal(lines.get("Where"), "big");
  assert.equal(lines.get("Preset"), "verl, shortened");
  assert.equal(lines.get("Who Stops"), "*P*, x");
  assert.equal(lines.get("Ranks That Stop"), "0, 1");
  assert.ok(lines.has("Show What Changes, Then Start"));
});

test("without a file the form requires a command", () => {
  assert.deepEqual(shown(PLAIN)[0], ["Command", "type it here"]);
  assert.deepEqual(shown({ ...PLAIN, args: ["make"] })[0], ["Start", "make"]);
});

test("questions of a preset are listed with their proposal or the answer", () => {
  const { questions } = shortened();
  const [steps] = questions;
  assert.ok(steps);
  const lines = formLines(answered(DRAFT, steps, "5"), { ...VIEW, questions }).slice(-2);
  assert.deepEqual(
    lines.map((line) => [line.label, line.description, line.icon]),
    [
      ["Steps", "5", "edit"],
      ["No checkpoint", "on", "check"],
    ],
  );
});

test("a file below the folder can be run as a module, another cannot", () => {
  assert.equal(moduleOf("/w/pkg/train.py", "/w"), "pkg.train");
  assert.equal(moduleOf("/v/train.py", "/w"), "");
  const kinds = (path: string): readonly string[] =>
    kindsFor({ ...DRAFT, path }).map((kind) => kind.runAs);
  assert.deepEqual(kinds("/w/train.py"), ["", "program", "module"]);
  assert.deepEqual(kinds("/v/train.py"), ["", "program"]);
  assert.deepEqual(kinds("/w/train.sh"), ["", "script", "sbatch"]);
});

test("the review has the answers, and requests that change nothing", () => {
  const lines = reviewLines(shortened(), false);
  assert.deepEqual(
    lines.map((line) => line.label),
    ["Start", "Change…", "Save as Preset…", "Cancel", "Not changed", "no trackers"],
  );
  assert.equal(lines[0]?.description, "verl 0.5 · 1 will apply · 1 not changed");
  assert.deepEqual(
    lines.map((line) => line.answer ?? ""),
    ["start", "back", "save", "cancel", "", ""],
  );
});

test("a trusted workspace offers to check the configuration of a recognised framework", () => {
  const answers = reviewLines(shortened(), true).map((line) => line.answer);
  assert.deepEqual(answers.slice(0, 3), ["start", "check", "back"]);
  assert.ok(!reviewLines(proposal(), true).some((line) => line.answer === "check"));
});

test("the review lists composed values, or the error with its next step", () => {
  const values = { "trainer.total_training_steps": "2", "trainer.name": "$(x)" };
  const composed = reviewLines(shortened(), true, { values, error: "", nextStep: "" });
  assert.deepEqual(
    composed.slice(5, 8).map(({ label, description, isTitle }) => [label, description, isTitle]),
    [
      ["Composed configuration", "", true],
      ["trainer.total_training_steps", "2", false],
      ["trainer.name", "$\u200b(x)", false],
    ],
  );
  const failure = { values: {}, error: "It can't be composed: no key x.", nextStep: "Check it." };
  const [row] = reviewLines(shortened(), true, failure).slice(5);
  assert.deepEqual([row?.label, row?.detail, row?.answer], [failure.error, "Check it.", undefined]);
  const nothing = reviewLines(shortened(), true, { values: {}, error: "", nextStep: "" });
  assert.equal(nothing[5]?.label, "The configuration can be composed");
});

test("both texts begin with the text of a dry run, and differ below", () => {
  const { before, after } = reviewTexts(shortened());
  const head = before.slice(0, -shortened().before.length);
  assert.equal(after, head + shortened().after);
  assert.match(head, /# verl 0\.5; nothing has been started/);
  const text = ["# It will stop after 2 steps.", "#", "# Will apply", "#   few steps   total = 2"];
  assert.ok(head.endsWith(`\n\n${text.join("\n")}\n\n`));
});

test("the review shows that no framework was recognised, and the problems", () => {
  const problems = [{ code: "x", message: "It passes no arguments on.", next_step: "Add $@." }];
  const lines = reviewLines(proposal({ problems }), true);
  assert.equal(lines[0]?.description, "no framework recognised · 0 changes");
  assert.deepEqual([lines[4]?.label, lines[4]?.detail], ["It passes no arguments on.", "Add $@."]);
});

test("agreements are stored without the arguments, which may hold secrets", () => {
  const draft = { ...PLAIN, args: ["--api-key", "x9-never-shown"] };
  const agreement = agreementOf(draft, shortened());
  assert.doesNotMatch(agreement, /x9-never-shown/);
  assert.equal(agreement, agreementOf({ ...draft }, shortened()));
  assert.notEqual(agreement, agreementOf(PLAIN, shortened()));
});
