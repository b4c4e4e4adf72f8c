// Runs by a form, by a preset and by launch.json, with a fake editor and a fake sidecar.
import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { EaglerayError } from "../../extension/common/errors";
import { CHANGED, LIST, START } from "../../extension/features/runs/messages";
import {
  COMPOSE,
  DELETE_PRESET,
  PREPARE,
  LIST_PRESETS,
  SAVE_PRESET,
  type Prepare,
  type SavePreset,
} from "../../extension/features/presets/messages";
import { reviewTexts } from "../../extension/features/presets/review_model";
import { settled, type FakeApp } from "../fakes/app";
import { registeredForEach, registerRuns } from "../fakes/registered";
import { debug, editor, tasks, Uri, type FakeQuickPick } from "../fakes/vscode";
import { aRun, FOLDER, proposal, shortened } from "../runs/samples";

let fake: FakeApp;

registeredForEach(registerRuns, (made) => {
  fake = made;
  const { sidecar } = fake;
  sidecar.on(PREPARE, ({ preset }) => (preset === "none" ? proposal() : shortened()));
  sidecar.on(START, () => ({ id: "new" }));
  sidecar.on(LIST, () => ({ runs: [] }));
  sidecar.on(LIST_PRESETS, () => ({ presets: shortened().presets }));
  editor.folders = [{ uri: Uri.file(FOLDER), name: "project", index: 0 }];
  editor.inView = { uri: Uri.file(`${FOLDER}/train.py`), languageId: "python" };
});

/** The list that is open now. */
async function open(): Promise<FakeQuickPick> {
  await settled();
  const pick = editor.picks.at(-1);
  assert.ok(pick?.open);
  return pick;
}

async function choose(...labels: string[]): Promise<void> {
  for (const label of labels) {
    (await open()).choose(label);
  }
  await settled();
}

function lastAsked(): Prepare {
  return fake.sidecar.sentTo(PREPARE).at(-1) as Prepare;
}

function startedPlans(): number {
  return fake.sidecar.sentTo(START).length;
}

test("Enter on the form as it is starts the file in the editor", async () => {
  const running = editor.run("eagleray.debugWithOptions");
  await choose("Start");
  await running;
  assert.equal(lastAsked().path, `${FOLDER}/train.py`);
  assert.equal(startedPlans(), 1);
});

test("each choice is made in its own box, and the form comes back at its line", async () => {
  const typed: Record<string, string> = {
    Arguments: "--name 'a b'",
    "Who stops": "*Policy*, x",
    "Ranks that stop": "0-1",
  };
  editor.answer = ({ text, options }) => {
    const items = options["items"] as { label: string }[] | undefined;
    return typed[text] ?? items?.find(({ label }) => label === "Python module");
  };
  const running = editor.run("eagleray.debugWithOptions");
  await choose("Arguments", "Run As", "Who Stops", "Ranks That Stop", "Break on Failure");
  const form = await open();
  assert.equal(form.activeItems[0]?.label, "Break on Failure");
  await choose("Child Processes Too", "Start");
  await running;
  const { path, args, kind, options } = lastAsked();
  assert.deepEqual([path, args, kind], ["train", ["--name", "a b"], "module"]);
  assert.deepEqual(
    [options?.workers, options?.ranks],
    [
      ["*Policy*", "x"],
      [0, 1],
    ],
  );
  assert.deepEqual([options?.post_mortem, options?.children], [true, true]);
});

test("a form that is closed starts nothing", async () => {
  const running = editor.run("eagleray.debugWithOptions");
  (await open()).hide();
  await running;
  assert.deepEqual([fake.sidecar.sentTo(PREPARE), startedPlans()], [[], 0]);
});

test("“Short Test Run…” has the preset that fits, and shows what it changes before it starts", async () => {
  const running = editor.run("eagleray.shortTestRun");
  const form = await open();
  assert.ok(form.lines.includes("No checkpoint"));
  await choose("No checkpoint", "Show What Changes, Then Start");
  assert.equal(startedPlans(), 0);
  const [diff] = editor.executed.filter(({ command }) => command === "vscode.diff");
  const [before, after] = (diff?.args ?? []) as Uri[];
  const provider = editor.providers.get("eagleray-run");
  assert.ok(before && after);
  const texts = reviewTexts(shortened());
  assert.equal(provider?.provideTextDocumentContent(before), texts.before);
  assert.equal(provider.provideTextDocumentContent(after), texts.after);
  await choose("Start");
  await running;
  assert.equal(lastAsked().preset, "verl");
  assert.deepEqual(lastAsked().options?.answers, { save: "off" });
  assert.equal(startedPlans(), 1);
});

test("the review leads back to the form, or out", async () => {
  const running = editor.run("eagleray.shortTestRun");
  await choose("Show What Changes, Then Start", "Change…", "Show What Changes, Then Start");
  const review = await open();
  // A line that only explains is no answer.
  review.choose("no trackers");
  assert.ok(review.open);
  await choose("Cancel");
  await running;
  assert.equal(startedPlans(), 0);
});

test("“Check Configuration” shows the composed values, and the review stays open", async () => {
  const values = { "trainer.total_training_steps": "2" };
  fake.sidecar.on(COMPOSE, (asked, { cancel }) => {
    assert.equal(cancel?.isCancellationRequested, false);
    assert.deepEqual(asked, lastAsked());
    return { values };
  });
  const running = editor.run("eagleray.shortTestRun");
  await choose("No checkpoint", "Show What Changes, Then Start", "Check Configuration");
  const review = await open();
  assert.ok(review.lines.includes("trainer.total_training_steps"));
  assert.equal(startedPlans(), 0);
  await choose("Cancel");
  await running;
});

test("a check that takes long shows its progress, and can be cancelled", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    fake.sidecar.on(
      COMPOSE,
      (_, { cancel }) =>
        new Promise<never>((_resolve, reject) => {
          cancel?.onCancellationRequested(() => {
            reject(new EaglerayError("cancelled", "Cancelled."));
          });
        }) as never,
    );
    const running = editor.run("eagleray.shortTestRun");
    await choose("Show What Changes, Then Start", "Check Configuration");
    mock.timers.tick(1_000);
    await settled();
    const [progress] = editor.progresses;
    assert.equal(progress?.options.title, "Checking the configuration");
    assert.equal(progress.options.cancellable, true);
    progress.cancel();
    await choose("Cancel");
    await running;
    assert.equal(startedPlans(), 0);
  } finally {
    mock.timers.reset();
  }
});

test("a configuration that can't be composed keeps the review open, as does a cancelled check", async () => {
  const error = new EaglerayError("not-composed", "There is no key x.", "Check the arguments.");
  fake.sidecar.on(COMPOSE, () => {
    throw error;
  });
  const running = editor.run("eagleray.shortTestRun");
  await choose("Show What Changes, Then Start", "Check Configuration");
  const row = (await open()).items.find(({ label }) => label === error.message);
  assert.equal(row?.detail, "Check the arguments.");
  fake.sidecar.on(COMPOSE, () => {
    throw new EaglerayError("cancelled", "Cancelled.");
  });
  await choose("Check Configuration");
  assert.ok((await open()).lines.includes(error.message));
  assert.deepEqual(editor.asked, []);
  await choose("Start");
  await running;
  assert.equal(startedPlans(), 1);
});

test("the answers of the form are saved as a preset, and the review goes on", async () => {
  editor.answer = ({ text }) => (text === "Save as preset" ? "mine" : undefined);
  const running = editor.run("eagleray.shortTestRun");
  await choose("No checkpoint", "Show What Changes, Then Start", "Save as Preset…", "Start");
  await running;
  const [saved] = fake.sidecar.sentTo(SAVE_PRESET) as SavePreset[];
  assert.deepEqual([saved?.workspace, saved?.name], [FOLDER, "mine"]);
  const preset: unknown = JSON.parse(saved?.text ?? "");
  const answers = { save: "off" };
  assert.deepEqual(preset, {
    ...{ format: 1, name: "mine", framework: "verl" },
    answers,
    words: [],
    env: {},
  });
  assert.equal(startedPlans(), 1);
});

test("where no preset fits the run starts as it is", async () => {
  fake.sidecar.on(PREPARE, () => proposal());
  const running = editor.run("eagleray.shortTestRun");
  await choose("Start");
  await running;
  assert.equal(lastAsked().preset, "none");
  assert.equal(startedPlans(), 1);
});

test("launch.json starts a run, and no session of its own", async () => {
  const config = { type: "eagleray", request: "launch", name: "x", program: "/w/a.py" };
  const began = await debug.startDebugging(undefined, { ...config, ranks: [0] });
  assert.equal(began, false);
  assert.deepEqual([lastAsked().path, lastAsked().options?.ranks], ["/w/a.py", [0]]);
  assert.equal(startedPlans(), 1);
  assert.deepEqual(debug.sessions, []);
});

test("launch.json that does not speak of failures follows the setting", async () => {
  editor.change("eagleray.runs.breakOnFailure", true);
  const config = { type: "eagleray", request: "launch", name: "x", program: "/w/a.py" };
  await debug.startDebugging(undefined, config);
  assert.equal(lastAsked().options?.post_mortem, true);
  await debug.startDebugging(undefined, { ...config, breakOnFailure: false });
  assert.equal(lastAsked().options?.post_mortem, false);
});

test("the preLaunchTask of a launch.json is the editor’s, which has run it before it asks us", async () => {
  const config = { type: "eagleray", request: "launch", name: "x", program: "/w/a.py" };
  tasks.known = [{ name: "data", source: "Workspace", code: 0 }];
  tasks.done = [];
  await debug.startDebugging(undefined, { ...config, preLaunchTask: "data" });
  assert.deepEqual([tasks.done, startedPlans()], [[], 1]);
});

test("the other task of a launch.json is done when the run is over", async () => {
  tasks.known = [
    { name: "tidy", source: "Workspace", code: 0 },
    { name: "both", source: "Workspace" },
    { name: "broken", source: "Workspace", code: 2 },
  ];
  tasks.done = [];
  fake.sidecar.on(LIST, () => ({ runs: [aRun({ id: "new" })] }));
  for (const postDebugTask of ["tidy", "both", "Workspace: broken", "nowhere"]) {
    const config = { type: "eagleray", request: "launch", name: "x", program: "/w/a.py" };
    await debug.startDebugging(undefined, { ...config, postDebugTask });
  }
  await settled();
  assert.deepEqual([tasks.done, startedPlans()], [[], 4]);
  fake.sidecar.notify(CHANGED, { runs: [aRun({ id: "new", state: "ended" })] });
  await settled();
  assert.deepEqual(tasks.done, ["tidy", "both", "broken"]);
  const said = editor.asked.map(({ text }) => text).sort();
  assert.equal(said.length, 2);
  assert.match(said[0] ?? "", /“Workspace: broken” ended with code 2; the run is over/);
  assert.match(said[1] ?? "", /There is no task “nowhere”/);
});

test("an invalid launch.json shows its error", async () => {
  const config = { type: "eagleray", request: "launch", name: "x" };
  await debug.startDebugging(undefined, config);
  assert.match(editor.asked[0]?.text ?? "", /names nothing to run\. Give one of “program”/);
});

test("launch.json with a preset shows what it changes the first time only", async () => {
  const config = { type: "eagleray", request: "launch", name: "x", program: "a.py" };
  let second = 0;
  fake.sidecar.on(PREPARE, () => ({ ...shortened(), after: `name=debug-${(second += 1)}` }));
  const first = debug.startDebugging(undefined, { ...config, preset: "verl" });
  await choose("Start");
  await first;
  const shown = editor.picks.length;
  await debug.startDebugging(undefined, { ...config, preset: "verl" });
  assert.equal(startedPlans(), 2);
  assert.equal(editor.picks.length, shown);
});

test("launch.json is reviewed again when it, or the effect of its preset, has changed", async () => {
  const config = {
    type: "eagleray",
    request: "launch",
    name: "x",
    program: "a.py",
    preset: "verl",
  };
  const first = debug.startDebugging(undefined, config);
  await choose("Start");
  await first;
  const other = debug.startDebugging(undefined, { ...config, args: ["--more"] });
  await choose("Start");
  await other;
  const changes = shortened().changes.map((one) => ({ ...one, outcome: "will apply" as const }));
  fake.sidecar.on(PREPARE, () => ({ ...shortened(), changes }));
  const third = debug.startDebugging(undefined, config);
  await choose("Cancel");
  await third;
  assert.equal(startedPlans(), 2);
});

test("presets are shown as JSON, and own presets are deleted", async () => {
  const [preset] = shortened().presets;
  assert.ok(preset);
  const own = { ...preset, name: "mine", title: "mine", own: true };
  fake.sidecar.on(LIST_PRESETS, () => ({ presets: [preset, own] }));
  let running = editor.run("eagleray.presets");
  await choose("verl, shortened");
  await running;
  assert.equal(editor.documents.at(-1)?.text, preset.text);
  running = editor.run("eagleray.presets");
  (await open()).press("mine", "Delete");
  await running;
  assert.deepEqual(fake.sidecar.sentTo(DELETE_PRESET), [{ workspace: FOLDER, name: "mine" }]);
});
