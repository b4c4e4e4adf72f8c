// A run that records on a machine without nsys: what the editor asks before it starts.
import assert from "node:assert/strict";
import { test } from "node:test";

import type { RunRequest } from "../../extension/runs/messages";
import { PREPARE } from "../../extension/runs/presets/messages";
import { PLAIN, type Draft } from "../../extension/runs/draft";
import { keepRun, optionsOfRun } from "../../extension/runs/last_options";
import { RESTART, START } from "../../extension/runs/messages";
import type { RunOutput } from "../../extension/runs/output";
import { NEW_PROFILE } from "../../extension/runs/profile_options";
import { RunStarter } from "../../extension/runs/run_starter";
import type { FakeApp } from "../fakes/app";
import { registeredForEach } from "../fakes/registered";
import { editor } from "../fakes/vscode";
import { aRun, FOLDER, proposal } from "./samples";

const FILE = `${FOLDER}/train.py`;
const NSYS = "/opt/nsys";
const BUTTONS = ["Enter Path…", "Run Without Recording", "Record on Other Nodes Only"];
const MESSAGE = "No nsys was found on this machine.";
const MISSING = { code: "no-nsys", message: MESSAGE, next_step: "Install Nsight Systems." };
const DRAFT: Draft = {
  ...PLAIN,
  path: FILE,
  cwd: FOLDER,
  profile: { ...NEW_PROFILE, workers: ["*Policy*"], when: "seconds" },
};

let fake: FakeApp;
let starter: RunStarter;

/** Only at the path NSYS is one. */
registeredForEach(
  () => [],
  (made) => {
    fake = made;
    const output = { show: () => Promise.resolve() } as unknown as RunOutput;
    starter = new RunStarter(fake.app, output, new Set());
    fake.sidecar.on(PREPARE, ({ profile }) => {
      const nsys = profile?.nsys ?? NSYS;
      return proposal({ problems: nsys === NSYS ? [] : [MISSING] });
    });
    fake.sidecar.on(START, () => ({ id: "new" }));
    fake.sidecar.on(RESTART, () => ({ id: "again" }));
  },
);

function profiles(): readonly unknown[] {
  return fake.sidecar.sentTo(PREPARE).map((request) => (request as RunRequest).profile);
}

test("closed, the question starts nothing", async () => {
  assert.equal(await starter.run(DRAFT), undefined);
  const [asked] = editor.asked;
  assert.deepEqual([asked?.kind, asked?.text], ["warning", MESSAGE]);
  assert.deepEqual(asked?.buttons, BUTTONS);
  assert.equal(asked.options["modal"], true);
  assert.deepEqual(String(asked.options["detail"]).split("\n"), [
    "Install Nsight Systems.",
    "",
    "“Enter Path…” records with the program that you enter.",
    "“Run Without Recording” records nothing and stops at breakpoints.",
    "“Record on Other Nodes Only” records only workers of nodes with nsys.",
  ]);
  assert.deepEqual(fake.sidecar.sentTo(START), []);
});

test("without recording, the run is prepared again and its options are kept", async () => {
  editor.answer = () => "Run Without Recording";
  assert.equal(await starter.run(DRAFT), "new");
  assert.deepEqual(profiles(), [DRAFT.profile, null]);
  assert.equal(optionsOfRun(fake.app, "new")?.draft.profile, null);
  assert.equal(editor.asked.length, 1);
});

test("a path is entered until there is an nsys, and kept", async () => {
  const paths = ["/nowhere/nsys", ` ${NSYS} `];
  editor.answer = ({ kind }) => (kind === "input" ? paths.shift() : "Enter Path…");
  assert.equal(await starter.run(DRAFT), "new");
  assert.equal(optionsOfRun(fake.app, "new")?.draft.profile?.nsys, NSYS);
  assert.deepEqual(
    editor.asked.map(({ kind }) => kind),
    ["warning", "input", "warning", "input"],
  );
});

test("a path that is entered must be a program, a name is taken as it is", async () => {
  editor.answer = ({ kind }) => (kind === "input" ? undefined : "Enter Path…");
  assert.equal(await starter.run(DRAFT), undefined);
  const input = editor.asked.at(-1);
  assert.equal(input?.options["prompt"], "To use it for every run, set eagleray.profiling.nsys.");
  const validate = input.options["validateInput"] as (text: string) => Promise<unknown>;
  const answers = ["", "bin/nsys", "/nowhere/nsys", "/usr/bin", "nsys", process.execPath];
  assert.deepEqual(await Promise.all(answers.map(validate)), [
    "Enter a full path or a name.",
    "Enter a full path or a name.",
    "No program was found at this path.",
    "No program was found at this path.",
    undefined,
    undefined,
  ]);
});

test("who starts the run is told of the question, and of the path", async () => {
  const told: string[] = [];
  editor.answer = ({ kind }) => (kind === "input" ? NSYS : "Enter Path…");
  const events = {
    asking: (question: string) => told.push(question),
    nsysEntered: (path: string) => told.push(path),
  };
  await starter.run(DRAFT, FILE, events);
  assert.deepEqual(told, [MESSAGE, NSYS, ""]);
});

test("the run starts anyway, where its workers run on other nodes", async () => {
  editor.answer = () => "Record on Other Nodes Only";
  assert.equal(await starter.run(DRAFT), "new");
  assert.deepEqual(profiles(), [DRAFT.profile]);
  assert.equal(editor.asked.length, 1);
});

test("nothing is asked where nsys was found, or nothing is recorded", async () => {
  assert.equal(await starter.run({ ...DRAFT, profile: { ...NEW_PROFILE, nsys: NSYS } }), "new");
  assert.equal(await starter.run({ ...DRAFT, profile: null }), "new");
  assert.deepEqual(editor.asked, []);
});

test("a run that is started again asks the same", async () => {
  const run = aRun({ state: "exited", kind: "program", confirm_stop: "" });
  await keepRun(fake.app, run.id, FILE, DRAFT);
  assert.equal(await starter.restart(run), undefined);
  assert.deepEqual(fake.sidecar.sentTo(RESTART), []);
  editor.answer = () => "Run Without Recording";
  assert.equal(await starter.restart(run), "new");
  assert.equal(profiles().at(-1), null);
  editor.answer = () => "Record on Other Nodes Only";
  assert.equal(await starter.restart(run), "again");
});

test("a run whose options are not known, or record nothing, starts again without a question", async () => {
  const run = aRun({ state: "exited", kind: "program", confirm_stop: "" });
  assert.equal(await starter.restart(run), "again");
  await keepRun(fake.app, run.id, FILE, { ...DRAFT, profile: null });
  assert.equal(await starter.restart(run), "again");
  assert.deepEqual(editor.asked, []);
  assert.deepEqual(profiles(), []);
});
