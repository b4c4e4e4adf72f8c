// The settings of a fix in a draft: variables, arguments in each form, answers of a preset.
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  settingsFor,
  withSettings,
  type FixedSetting,
} from "../../../extension/runs/presets/fixed_settings";
import { PLAIN } from "../../../extension/runs/draft";

function override(name: string, value: string): FixedSetting {
  return { where: "override", name, value };
}

const ARGUMENTS: readonly (readonly [string[], FixedSetting, string[], string | undefined])[] = [
  [["a=1"], override("b.c", "2"), ["a=1", "b.c=2"], undefined],
  [["b.c=1", "a=1"], override("b.c", "2"), ["b.c=2", "a=1"], "1"],
  [["b.c=1", "b.c=3"], override("b.c", "2"), ["b.c=1", "b.c=2"], "3"],
  [["++b.c=x=y"], override("b.c", "2"), ["++b.c=2"], "x=y"],
  [["b.cd=1"], override("b.c", "2"), ["b.cd=1", "b.c=2"], undefined],
  [["b.c=1"], override("++b.c", "2"), ["b.c=2"], "1"],
  [["--steps", "4"], override("--steps", "2"), ["--steps", "2"], "4"],
  [["--steps=4"], override("--steps", "2"), ["--steps=2"], "4"],
  [["--step", "4"], override("--steps", "2"), ["--step", "4", "--steps", "2"], undefined],
];

for (const [args, setting, fixed, before] of ARGUMENTS) {
  test(`${args.join(" ")} with ${setting.name} becomes ${fixed.join(" ")}`, () => {
    const { draft, differences } = withSettings({ ...PLAIN, args }, [setting]);
    assert.deepEqual(draft.args, fixed);
    assert.deepEqual(differences, [{ name: setting.name, before, after: setting.value }]);
  });
}

test("variables and answers are replaced, and nothing else changes", () => {
  const draft = { ...PLAIN, env: { A: "1", B: "2" }, answers: { steps: "3" }, args: ["x"] };
  const fixed = withSettings(draft, [
    { where: "environment", name: "B", value: "0" },
    { where: "preset", name: "no_checkpoint", value: "on" },
  ]);
  const answers = { steps: "3", no_checkpoint: "on" };
  assert.deepEqual(fixed.draft, { ...draft, env: { A: "1", B: "0" }, answers });
  assert.deepEqual(fixed.differences[0], { name: "B", before: "2", after: "0" });
});

test("settings of other frameworks, and of a preset that isn't used, are left out", () => {
  const verl = { ...override("a", "1"), framework: "verl" };
  const areal = { ...override("b", "1"), framework: "AReaL" };
  const answer: FixedSetting = { where: "preset", name: "no_checkpoint", value: "on" };
  const any = override("c", "1");
  assert.deepEqual(settingsFor([verl, areal, answer, any], "verl", PLAIN), [verl, any]);
  const shortened = { ...PLAIN, preset: "" };
  assert.deepEqual(settingsFor([areal, answer], "verl", shortened), [answer]);
});
