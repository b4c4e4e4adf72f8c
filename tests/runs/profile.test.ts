// What a run records with nsys: who matches as patterns are typed, steps, seconds, and the command.
import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";

import { WORKERS } from "../../extension/features/profiling/messages";
import { START } from "../../extension/features/runs/messages";
import { PREPARE, LIST_PRESETS, type Prepare } from "../../extension/features/presets/messages";
import {
  nsysProblem,
  secondsOf,
  stepsOf,
  traceOf,
} from "../../extension/features/runs/profile_options";
import {
  mergedClasses,
  pickPatterns,
  previewItems,
} from "../../extension/features/presets/form/worker_patterns";
import { fakeApp, settled, type FakeApp } from "../fakes/app";
import { registerRuns } from "../fakes/registered";
import { debug, editor, Uri, type Asked } from "../fakes/vscode";
import { FOLDER, proposal } from "./samples";

const SEEN = [
  { name: "trainer.PolicyWorker", running: 4, matched_by: "*Policy*" },
  { name: "VllmWorker", running: 0, matched_by: "" },
];

let fake: FakeApp;
let registered: readonly { dispose(): unknown }[] = [];

beforeEach(() => {
  editor.reset();
  debug.reset();
  fake = fakeApp();
  registered = registerRuns(fake.app);
  fake.sidecar.on(PREPARE, () => proposal());
  fake.sidecar.on(LIST_PRESETS, () => ({ presets: [] }));
  fake.sidecar.on(START, () => ({ id: "1" }));
  editor.settings["eagleray.runs.showOutput"] = false;
  editor.folders = [{ uri: Uri.file(FOLDER), name: "project", index: 0 }];
  editor.inView = { uri: Uri.file(`${FOLDER}/train.py`), languageId: "python" };
});

afterEach(() => {
  mock.timers.reset();
  for (const one of registered) {
    one.dispose();
  }
});

test("steps and seconds are parsed, and invalid ones are rejected", () => {
  assert.deepEqual(["3:5", " 3 : 5 ", "4"].map(stepsOf), ["3:5", "3:5", "4:5"]);
  assert.deepEqual([...new Set(["", "5:3", "3:3", "3-5", "a", "3:"].map(stepsOf))], [undefined]);
  assert.deepEqual(["10", "0,5", "0", "", "x"].map(secondsOf), [
    10,
    0.5,
    undefined,
    undefined,
    undefined,
  ]);
  assert.equal(traceOf(["mpi", "osrt", "cuda"]), "cuda,osrt,mpi");
});

test("nsys on the nodes is named by a whole path or a name, or by nothing", () => {
  const meant = ["", " /opt/cuda 12/bin/nsys ", "~/bin/nsys", "nsys"];
  assert.deepEqual(meant.filter(nsysProblem), []);
  const unclear = ["bin/nsys", "./nsys", "$CUDA_HOME/bin/nsys"];
  assert.deepEqual(unclear.filter(nsysProblem), unclear);
});

test("the preview shows matching classes, and patterns that would add the others", () => {
  const items = previewItems(["*Policy*"], SEEN).map(({ label, description, adds }) => [
    label,
    description,
    adds,
  ]);
  assert.deepEqual(items, [
    ["*Policy*", "matches 1 of 2 classes", ""],
    ["trainer.PolicyWorker", "4 workers · matches *Policy*", ""],
    ["VllmWorker", "seen before", "VllmWorker"],
  ]);
  assert.equal(previewItems(["x"], undefined)[0]?.description, "");
  assert.match(previewItems(["x"], [])[0]?.description ?? "", /^no worker was seen .* Enter takes/);
  assert.match(previewItems(["x"], SEEN.slice(1))[0]?.description ?? "", /matches nothing/);
});

test("a class of two clusters is listed once", () => {
  const classes = mergedClasses([SEEN, SEEN.slice(0, 1), []]);
  assert.deepEqual(
    classes.map(({ name, running }) => [name, running]),
    [
      ["trainer.PolicyWorker", 8],
      ["VllmWorker", 0],
    ],
  );
});

test("classes are requested once the user stops typing, and a chosen one is added", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const asked: (readonly string[])[] = [];
  const picked = pickPatterns(["*Policy*"], (patterns) => {
    asked.push(patterns);
    return Promise.resolve(SEEN);
  });
  const [pick] = editor.picks;
  assert.ok(pick);
  pick.type("*Pol*");
  pick.type("*Policy*");
  mock.timers.tick(200);
  await Promise.resolve();
  await Promise.resolve();
  assert.deepEqual(asked, [["*Policy*"]]);
  pick.choose("VllmWorker");
  assert.equal(pick.value, "*Policy*, VllmWorker");
  pick.choose("*Policy*, VllmWorker");
  assert.deepEqual(await picked, ["*Policy*", "VllmWorker"]);
});

test("without a pattern Enter takes nothing, and a list that is closed changes nothing", async () => {
  const picked = pickPatterns([], () => Promise.resolve([]));
  const [pick] = editor.picks;
  assert.ok(pick);
  pick.choose("Type patterns");
  assert.equal(pick.open, true);
  pick.hide();
  assert.equal(await picked, undefined);
});

test("without a cluster the preview shows classes of earlier runs", async () => {
  fake.sidecar.on(WORKERS, () => ({ classes: SEEN }));
  void editor.run("eagleray.profile");
  await settled();
  editor.picks.at(-1)?.choose("Profiled Workers");
  await settled();
  mock.timers.enable({ apis: ["setTimeout"] });
  editor.picks.at(-1)?.type("trainer.*");
  mock.timers.tick(200);
  await settled();
  assert.deepEqual(fake.sidecar.sentTo(WORKERS), [{ cluster: "", patterns: ["trainer.*"] }]);
  assert.deepEqual(editor.picks.at(-1)?.lines.slice(1), ["trainer.PolicyWorker", "VllmWorker"]);
});

test("“Profile on Ray…” starts a run that nsys is with and that stops nowhere", async () => {
  fake.sidecar.on(WORKERS, () => ({ classes: SEEN }));
  const answers: Readonly<Record<string, (asked: Asked) => unknown>> = {
    "When is it recorded?": ({ options }) =>
      (options["items"] as { when: string }[]).find(({ when }) => when === "seconds"),
    "How many seconds": () => "5",
    "Where nsys is on the nodes": () => " /opt/nsys ",
  };
  editor.answer = (asked) => answers[asked.text]?.(asked);
  const run = editor.run("eagleray.profile");
  const form = async (label: string): Promise<void> => {
    await settled();
    editor.picks.at(-1)?.choose(label);
    await settled();
  };
  const shown = (): readonly unknown[] => {
    const { placeholder, activeItems } = editor.picks.at(-1) ?? {};
    return [/said who is profiled/.test(placeholder ?? ""), activeItems?.[0]?.label];
  };
  await settled();
  assert.deepEqual(shown(), [true, "Profiled Workers"]);
  await form("Profiled Workers");
  editor.picks.at(-1)?.enter("*Policy*");
  editor.picks.at(-1)?.choose("*Policy*");
  await settled();
  assert.deepEqual(shown(), [false, "Start"]);
  await form("When");
  await form("nsys on the Nodes");
  await form("Start");
  await run;
  const [asked] = fake.sidecar.sentTo(PREPARE) as Prepare[];
  assert.deepEqual(asked?.options?.breakpoints, []);
  assert.equal(asked.options.profile?.when, "seconds");
  assert.deepEqual(asked.options.profile.workers, ["*Policy*"]);
  assert.equal(asked.options.profile.seconds, 5);
  assert.equal(asked.options.profile.nsys, "/opt/nsys");
  assert.equal(fake.sidecar.sentTo(START).length, 1);
});
