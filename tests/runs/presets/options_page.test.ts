// The options page, launch.json and presets, with a fake editor, a fake page and a fake sidecar.
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { EaglerayError } from "../../../extension/common/errors";
import { WORKERS } from "../../../extension/profile/recordings/messages";
import {
  CHECK,
  COMPOSE,
  DELETE_PRESET,
  LIST_PRESETS,
  PREPARE,
  SAVE_PRESET,
  type OptionsCheck,
  type SavePreset,
} from "../../../extension/runs/presets/messages";
import type { FixedSetting } from "../../../extension/runs/presets/fixed_settings";
import type { OptionsForm } from "../../../extension/runs/presets/options_model";
import { reviewTexts } from "../../../extension/runs/presets/review_model";
import {
  CHANGED,
  INTERPRETER,
  LIST,
  RESTART,
  START,
  type RunRequest,
} from "../../../extension/runs/messages";
import { settled, type FakeApp } from "../../fakes/app";
import { registeredForEach, registerRuns } from "../../fakes/registered";
import {
  debug,
  editor,
  FakeWebviewPanel,
  tasks,
  Uri,
  type FakeQuickPick,
} from "../../fakes/vscode";
import { aRun, FOLDER, proposal, shortened } from "../samples";
import {
  answerOptions,
  checked,
  closePages,
  FILE,
  opened,
  type Page,
  ready,
  until,
} from "./options_pages";

let fake: FakeApp;

registeredForEach(registerRuns, (made) => {
  fake = made;
  editor.answersLists = false;
  answerOptions(made);
});

afterEach(closePages);

function lastAsked(): RunRequest {
  return fake.sidecar.sentTo(PREPARE).at(-1) as RunRequest;
}

function startedPlans(): number {
  return fake.sidecar.sentTo(START).length;
}

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

test("the tab is named after the program in its field", async () => {
  const page = await opened("eagleray.debugWithOptions");
  await page.send("edit", { file: "/work/evaluate.py" });
  assert.equal(page.panel.title, "Run options: evaluate.py");
});

test("“Start” on the page as it is starts the file in the editor", async () => {
  const page = await opened("eagleray.debugWithOptions");
  assert.equal(page.panel.title, "Run options: train.py");
  assert.deepEqual(page.last("content").open, ["breakpoints"]);
  await page.send("start");
  assert.equal(lastAsked().path, FILE);
  assert.equal(startedPlans(), 1);
  assert.equal(page.last("announcement").sentence, "train.py was started.");
});

test("all fields of the page reach the request", async () => {
  const page = await opened("eagleray.debugWithOptions");
  const changes = {
    path: "train",
    kind: "module",
    args: "--name 'a b'",
    env: "A=1\nB=x=y",
    python: "/usr/bin/python3",
    workers: "*Policy*, x",
    ranks: "0-1",
    breakOnFailure: true,
    children: true,
    watchMinutes: "5",
  } as const;
  await page.send("start", changes);
  const { path, args, kind, python, ...options } = lastAsked();
  assert.deepEqual([path, args, kind], ["train", ["--name", "a b"], "module"]);
  assert.equal(python, "/usr/bin/python3");
  assert.deepEqual(options.env, { A: "1", B: "x=y" });
  assert.deepEqual(
    [options.workers, options.ranks],
    [
      ["*Policy*", "x"],
      [0, 1],
    ],
  );
  assert.deepEqual([options.post_mortem, options.children], [true, true]);
  assert.equal(options.watch_minutes, 5);
});

test("an edit is checked with one request, which saves no file and starts nothing", async () => {
  const page = await opened("eagleray.debugWithOptions");
  await page.send("edit", { args: "--steps 3" });
  assert.equal(fake.sidecar.sentTo(CHECK).length, 1);
  assert.deepEqual((fake.sidecar.sentTo(CHECK)[0] as RunRequest).args, ["--steps", "3"]);
  const { problems, preview, number } = page.last("checked");
  assert.deepEqual([problems, preview?.after, number], [[], "python train.py\n", 1]);
  assert.deepEqual([editor.saved, startedPlans()], [0, 0]);
});

test("a problem is shown at the field that the sidecar names", async () => {
  fake.sidecar.on(CHECK, () => ({
    problems: [
      {
        field: "cwd",
        code: "no-program",
        message: "/nowhere: no such folder.",
        next_step: "Check it.",
        blocks: true,
      },
    ],
    proposal: null,
    nsys: "",
    ports: [],
  }));
  const page = await opened("eagleray.debugWithOptions");
  await page.send("edit", { cwd: "/nowhere" });
  const { problems, preview } = page.last("checked");
  assert.deepEqual(problems, [
    { field: "cwd", text: "/nowhere: no such folder. Check it.", blocks: true },
  ]);
  assert.equal(preview, null);
});

test("a field with a mistake is neither sent nor started", async () => {
  const page = await opened("eagleray.debugWithOptions");
  await page.send("edit", { args: "'open" });
  await page.send("start", { args: "'open" });
  assert.deepEqual(fake.sidecar.sentTo(CHECK), []);
  assert.deepEqual([fake.sidecar.sentTo(PREPARE), startedPlans()], [[], 0]);
});

test("a newer edit cancels the check of the one before, whose answer is dropped", async () => {
  const cancelled: boolean[] = [];
  const answers: ((found: OptionsCheck) => void)[] = [];
  fake.sidecar.on(CHECK, (_, { cancel }) => {
    const at = cancelled.push(false) - 1;
    cancel?.onCancellationRequested(() => (cancelled[at] = true));
    return new Promise<OptionsCheck>((resolve) => answers.push(resolve)) as never;
  });
  const page = await opened("eagleray.debugWithOptions");
  await page.send("edit", { args: "a" });
  await until(() => answers.length === 1);
  await page.send("edit", { args: "b" });
  await until(() => answers.length === 2);
  assert.deepEqual(cancelled, [true, false]);
  answers[1]?.(checked(proposal({ after: "b\n" })));
  answers[0]?.(checked(proposal({ after: "a\n" })));
  await settled();
  const shown = page.messages.filter(({ kind }) => kind === "checked");
  assert.equal(shown.length, 1);
  assert.equal(page.last("checked").preview?.after, "b\n");
});

test("anything else than a message of the page is ignored", async () => {
  const page = await opened("eagleray.debugWithOptions");
  const { form } = page;
  const strange = [
    undefined,
    "start",
    { kind: "start" },
    { kind: "start", number: 1, form: { ...form, args: ["x"] } },
    { kind: "start", number: 1, form: { ...form, kind: "rm" } },
    { kind: "start", number: "1", form },
    { kind: "browse", field: "args", form },
    { kind: "eval", number: 1, form },
  ];
  for (const message of strange) {
    page.panel.webview.says(message);
  }
  await settled();
  assert.deepEqual([fake.sidecar.sentTo(PREPARE), startedPlans()], [[], 0]);
});

test("the options of a file are kept, and “Debug on Ray” starts with them", async () => {
  const page = await opened("eagleray.debugWithOptions");
  await page.send("edit", { args: "--steps 3", ranks: "1" });
  page.panel.close();
  await editor.run("eagleray.debug");
  const { args, ranks } = lastAsked();
  assert.deepEqual([args, ranks], [["--steps", "3"], [1]]);
  assert.equal(startedPlans(), 1);
  const again = await opened("eagleray.debugWithOptions");
  assert.deepEqual([again.form.args, again.form.ranks], ["--steps 3", "1"]);
});

test("“Debug on Ray” records nothing after a profile, which would stop nowhere", async () => {
  const page = await opened("eagleray.profile");
  await page.send("start", { recordWorkers: "*Policy*", args: "x" });
  assert.deepEqual(lastAsked().profile?.workers, ["*Policy*"]);
  await editor.run("eagleray.debug");
  assert.deepEqual([lastAsked().args, lastAsked().profile], [["x"], null]);
  const again = await opened("eagleray.profile");
  assert.equal(again.form.recordWorkers, "*Policy*");
});

test("a second command shows the open page of the file, filled anew", async () => {
  const page = await opened("eagleray.debugWithOptions");
  await editor.run("eagleray.shortTestRun");
  await settled();
  assert.equal(editor.panels.length, 1);
  assert.equal(page.panel.revealed, 1);
  assert.deepEqual([page.form.shorten, page.last("content").open], [true, ["shorten"]]);
});

test("without a file the page asks for a command", async () => {
  editor.inView = undefined;
  const page = await opened("eagleray.debugWithOptions");
  assert.equal(page.form.kind, "command");
  await page.send("start", { args: "make train" });
  const { path, args, kind } = lastAsked();
  assert.deepEqual([path, args, kind], ["", ["make", "train"], ""]);
});

test("a job for SLURM is submitted only after its exact command is confirmed", async () => {
  fake.sidecar.on(PREPARE, () => proposal({ confirm: "sbatch -N1 job.sh" }));
  const page = await opened("eagleray.debugWithOptions");
  await page.send("start");
  assert.equal(startedPlans(), 0);
  assert.equal(editor.asked.at(-1)?.options["detail"], "sbatch -N1 job.sh");
  editor.answer = () => "Submit";
  await page.send("start");
  assert.equal(startedPlans(), 1);
});

test("a start that fails shows the error, and the page can start again", async () => {
  fake.sidecar.on(START, () => {
    throw new EaglerayError("no-gcs", "It can't be joined.", "Start it as a job.");
  });
  const page = await opened("eagleray.debugWithOptions");
  await page.send("start");
  assert.equal(editor.asked.at(-1)?.text, "It can't be joined. Start it as a job.");
  assert.equal(page.last("starting").isOn, false);
});

test("the version and the Ray of the Python are beside its path", async () => {
  const notes = async (page: Page, python: string): Promise<unknown> => {
    await page.send("edit", { python });
    await until(() => page.last("facts").facts.interpreter?.python === python);
    const note = page.last("facts").facts.interpreter;
    return [note?.text, note?.state];
  };
  const page = await opened("eagleray.debugWithOptions");
  assert.deepEqual(await notes(page, "/opt/python"), ["3.11.7 · ray 2.60.0 ✓", "ok"]);
  fake.sidecar.on(INTERPRETER, ({ python }) => ({ path: python, version: "3.12.1", ray: "" }));
  assert.deepEqual(await notes(page, "/usr/bin/python3"), ["3.12.1 · no ray", "warning"]);
  fake.sidecar.on(INTERPRETER, () => {
    throw new EaglerayError("not-a-python", "/bin/ls is not a working Python.", "Select another.");
  });
  assert.deepEqual(await notes(page, "/bin/ls"), ["/bin/ls is not a working Python.", "error"]);
});

test("a slow Python doesn't delay the check, and the note of an earlier one is dropped", async () => {
  const answers: ((version: string) => void)[] = [];
  fake.sidecar.on(
    INTERPRETER,
    () =>
      new Promise((resolve) => {
        answers.push((version) => {
          resolve({ path: "", version, ray: "?" });
        });
      }) as never,
  );
  const page = await opened("eagleray.debugWithOptions");
  await page.send("edit", { python: "/slow/a" });
  await page.send("edit", { python: "/slow/b" });
  await until(() => answers.length === 2);
  answers[1]?.("3.11.2");
  answers[0]?.("3.11.1");
  await until(() => page.last("facts").facts.interpreter !== null);
  await settled();
  assert.deepEqual(page.last("facts").facts.interpreter, {
    python: "/slow/b",
    text: "3.11.2 · ray ✓",
    state: "ok",
  });
});

test("while a question waits the page says which, and shows the path that is entered", async () => {
  const message = "No nsys was found on this machine.";
  const missing = { code: "no-nsys", message, next_step: "Install it." };
  fake.sidecar.on(PREPARE, ({ profile }) =>
    proposal({ problems: profile?.nsys === "/opt/nsys" ? [] : [missing] }),
  );
  editor.answer = ({ kind }) => (kind === "input" ? "/opt/nsys" : "Enter Path…");
  const page = await opened("eagleray.profile");
  await page.send("start", { recordWorkers: "*Policy*" });
  assert.equal(startedPlans(), 1);
  const told = page.messages.flatMap((one) =>
    one.kind === "starting" ? [one.isOn ? one.question : "over"] : [],
  );
  assert.deepEqual(told, ["", message, "", "over"]);
  const { field, path } = page.last("chosen");
  assert.deepEqual([field, path], ["nsys", "/opt/nsys"]);
});

test("*Browse…* selects the program for the path of nsys", async () => {
  const page = await opened("eagleray.profile");
  editor.answer = ({ options }) => {
    assert.deepEqual([options["canSelectFiles"], options["canSelectFolders"]], [true, false]);
    return [Uri.file("/opt/nsys")];
  };
  page.panel.webview.says({ kind: "browse", field: "nsys", form: page.form });
  await until(() => page.messages.some(({ kind }) => kind === "chosen"));
  assert.equal(page.last("chosen").path, "/opt/nsys");
});

test("a short test run shows what the preset changes, and starts with the answers", async () => {
  const page = await opened("eagleray.shortTestRun");
  await page.send("check");
  const { preview } = page.last("checked");
  assert.deepEqual([preview?.preset, preview?.framework], ["verl", "verl 0.5"]);
  assert.equal(preview?.changes.length, 2);
  await page.send("start", { answers: { save: "off" } });
  assert.deepEqual([lastAsked().preset, lastAsked().answers], ["", { save: "off" }]);
});

test("“Open Diff” shows both texts in the editor", async () => {
  const page = await opened("eagleray.shortTestRun");
  await page.send("showDiff");
  const [diff] = editor.executed.filter(({ command }) => command === "vscode.diff");
  const [before, after] = (diff?.args ?? []) as Uri[];
  const provider = editor.providers.get("eagleray-run");
  assert.ok(before && after);
  const texts = reviewTexts(shortened());
  assert.equal(provider?.provideTextDocumentContent(before), texts.before);
  assert.equal(provider.provideTextDocumentContent(after), texts.after);
});

test("“Check Configuration” shows the composed values, or why there are none", async () => {
  fake.sidecar.on(COMPOSE, () => ({ values: { steps: "2" } }));
  const page = await opened("eagleray.shortTestRun");
  await page.send("compose");
  assert.deepEqual(page.last("composed").rows, [["steps", "2"]]);
  fake.sidecar.on(COMPOSE, () => {
    throw new EaglerayError("not-composed", "There is no key x.", "Check the arguments.");
  });
  await page.send("compose");
  assert.equal(page.last("notComposed").reason, "There is no key x. Check the arguments.");
  assert.equal(startedPlans(), 0);
});

test("the answers are saved as a preset", async () => {
  editor.answer = ({ text }) => (text === "Save as preset" ? "mine" : undefined);
  const page = await opened("eagleray.shortTestRun");
  await page.send("savePreset", { answers: { save: "off" } });
  const [saved] = fake.sidecar.sentTo(SAVE_PRESET) as SavePreset[];
  assert.deepEqual([saved?.workspace, saved?.name], [FOLDER, "mine"]);
  assert.deepEqual(JSON.parse(saved?.text ?? ""), {
    ...{ format: 1, name: "mine", framework: "verl" },
    answers: { save: "off" },
    words: [],
    env: {},
  });
});

test("the options are saved to launch.json, beside what is there", async () => {
  const path = `${FOLDER}/.vscode/launch.json`;
  const comment = '{\n  // mine\n  "configurations": [\n    { "name": "x" }\n  ]\n}\n';
  editor.files.set(path, comment);
  const page = await opened("eagleray.debugWithOptions");
  await page.send("saveLaunch", { args: "--steps 3" });
  const text = editor.files.get(path) ?? "";
  assert.match(text, /^\{\n {2}\/\/ mine\n/);
  assert.match(text, /\{ "name": "x" \}\n {2}\]\n\}\n$/);
  const { configurations } = JSON.parse(text.replace("// mine", "")) as {
    configurations: object[];
  };
  assert.deepEqual(configurations[0], {
    type: "eagleray",
    request: "launch",
    name: "Ray: debug train.py",
    program: "${workspaceFolder}/train.py",
    args: ["--steps", "3"],
    cwd: "${workspaceFolder}",
    breakOnFailure: false,
  });
  await page.send("saveLaunch");
  assert.match(editor.files.get(path) ?? "", /"Ray: debug train\.py \(2\)"/);
});

test("a launch.json that cannot be read isn't overwritten", async () => {
  editor.readError = "NoPermissions";
  const page = await opened("eagleray.debugWithOptions");
  await page.send("saveLaunch");
  assert.equal(editor.asked.at(-1)?.kind, "error");
  assert.deepEqual([...editor.files.keys()], []);
});

test("a profile asks for workers first, and shows which classes match", async () => {
  const seen = { name: "trainer.PolicyWorker", running: 4, matched_by: "" };
  fake.sidecar.on(WORKERS, () => ({ classes: [seen] }));
  const page = await opened("eagleray.profile");
  assert.deepEqual([page.form.record, page.last("content").open], [true, ["record"]]);
  await page.send("check");
  assert.deepEqual(page.last("facts").facts.classes, [seen]);
  await page.send("start");
  assert.equal(startedPlans(), 0);
  await page.send("edit", { recordWorkers: "*Policy*" });
  assert.deepEqual(fake.sidecar.sentTo(WORKERS).at(-1), { cluster: "", patterns: ["*Policy*"] });
  const changes = { recordWorkers: "*Policy*", when: "seconds", seconds: "5", nsys: " /opt/nsys " };
  await page.send("start", changes as Partial<OptionsForm>);
  const options = lastAsked();
  assert.deepEqual(options.breakpoints, []);
  const { workers, when, seconds, nsys } = options.profile ?? {};
  assert.deepEqual([workers, when, seconds, nsys], [["*Policy*"], "seconds", 5, "/opt/nsys"]);
});

test("a dialog fills the field that asked for it", async () => {
  editor.answer = ({ kind }) => (kind === "open" ? [Uri.file("/opt/code")] : undefined);
  const page = await opened("eagleray.debugWithOptions");
  page.panel.webview.says({ kind: "browse", field: "cwd", form: page.form });
  await settled();
  assert.deepEqual(page.last("chosen"), { kind: "chosen", field: "cwd", path: "/opt/code" });
});

test("breakpoints and clusters that change are shown at once", async () => {
  const page = await opened("eagleray.debugWithOptions");
  assert.deepEqual(page.last("facts").facts.breakpoints, []);
  debug.setBreakpoints();
  assert.deepEqual(page.last("facts").facts.breakpoints, []);
  assert.ok(page.messages.filter(({ kind }) => kind === "facts").length >= 2);
});

test("a page is restored after a reload of the window", async () => {
  const page = await opened("eagleray.debugWithOptions");
  const form = { ...page.form, args: "--kept" };
  const serializer = editor.serializers.get("eagleray.runOptions");
  const panel = new FakeWebviewPanel();
  await serializer?.deserializeWebviewPanel(panel, { form, open: ["record", "x"] });
  const restored = await ready(panel);
  assert.equal(restored.form.args, "--kept");
  assert.deepEqual(restored.last("content").open, ["record"]);
  const broken = new FakeWebviewPanel();
  await serializer?.deserializeWebviewPanel(broken, { form: { path: 1 } });
  assert.ok(broken.isClosed);
});

test("in a workspace that is not trusted a restored page shows nothing but why", async () => {
  const page = await opened("eagleray.debugWithOptions");
  const { form } = page;
  editor.trusted = false;
  const panel = new FakeWebviewPanel();
  await editor.serializers
    .get("eagleray.runOptions")
    ?.deserializeWebviewPanel(panel, { form, open: [] });
  const restored = await ready(panel);
  assert.deepEqual(
    restored.messages.map(({ kind }) => kind),
    ["untrusted"],
  );
  panel.webview.says({ kind: "start", number: 1, form });
  await settled();
  assert.deepEqual([fake.sidecar.sentTo(PREPARE), startedPlans()], [[], 0]);
  editor.trusted = true;
  editor.trustGranted.fire(undefined);
  await settled();
  assert.equal(restored.form.path, FILE);
});

test("“Edit and Rerun…” opens the page with the options of the run", async () => {
  const page = await opened("eagleray.debugWithOptions");
  await page.send("start", { args: "--first" });
  await page.send("edit", { args: "--second" });
  page.panel.close();
  const row = { row: "run", run: aRun({ id: "new" }) };
  const again = await opened("eagleray.editAndRerun", row);
  assert.equal(again.form.args, "--first");
  again.panel.close();
  // A run that was started again has the options of the first.
  fake.sidecar.on(RESTART, () => ({ id: "newer" }));
  const ended = aRun({ id: "new", state: "failed", ended: 1 });
  await editor.run("eagleray.restartRun", { row: "run", run: ended });
  const newer = { row: "run", run: aRun({ id: "newer" }) };
  const oncemore = await opened("eagleray.editAndRerun", newer);
  assert.equal(oncemore.form.args, "--first");
  await editor.run("eagleray.editAndRerun", { row: "run", run: aRun({ id: "of a terminal" }) });
  assert.match(editor.asked.at(-1)?.text ?? "", /Another workspace started this run/);
});

/** A page with the settings of a fix, of a run that was started with `changes`. */
async function fixedPage(
  changes: Partial<OptionsForm>,
  settings: readonly FixedSetting[],
): Promise<Page> {
  const page = await opened("eagleray.debugWithOptions");
  await page.send("start", changes);
  page.panel.close();
  const row = { row: "run", run: aRun({ id: "new" }), settings };
  return await opened("eagleray.editAndRerun", row);
}

const LAUNCH_BLOCKING = { where: "environment", name: "CUDA_LAUNCH_BLOCKING", value: "1" } as const;
const MICRO_BATCH = { where: "override", name: "policy.micro", value: "1" } as const;

test("a fix is shown in the options of the run, and nothing is started", async () => {
  const page = await fixedPage({ args: "policy.micro=4 x=1", env: "A=1" }, [
    LAUNCH_BLOCKING,
    MICRO_BATCH,
  ]);
  assert.equal(page.form.args, "policy.micro=1 x=1");
  assert.equal(page.form.env, "A=1\nCUDA_LAUNCH_BLOCKING=1");
  const { fix } = page.last("content");
  assert.deepEqual(fix?.differences, [
    { name: "CUDA_LAUNCH_BLOCKING", before: undefined, after: "1" },
    { name: "policy.micro", before: "4", after: "1" },
  ]);
  assert.deepEqual([fix.undo.args, fix.undo.env], ["policy.micro=4 x=1", "A=1"]);
  assert.equal(startedPlans(), 1, "only the run itself");
  await page.send("start");
  assert.deepEqual(lastAsked().env, { A: "1", CUDA_LAUNCH_BLOCKING: "1" });
});

test("a fix has only the settings of the recognised framework", async () => {
  fake.sidecar.on(CHECK, () => ({
    problems: [],
    proposal: proposal({ framework: "verl" }),
    nsys: "",
    ports: [],
  }));
  const page = await fixedPage({ args: "" }, [
    { ...MICRO_BATCH, framework: "AReaL" },
    { ...MICRO_BATCH, name: "actor.micro", framework: "verl" },
  ]);
  assert.equal(page.form.args, "actor.micro=1");
});

test("without a recognised framework the user selects it, or cancels", async () => {
  const settings = ["AReaL", "verl"].map((framework) => ({ ...MICRO_BATCH, framework }));
  fake.sidecar.on(CHECK, () => ({ problems: [], proposal: null, nsys: "", ports: [] }));
  editor.answer = ({ kind, options }) =>
    kind === "pick" ? (options["items"] as string[])[1] : undefined;
  const page = await fixedPage({ args: "" }, settings);
  assert.equal(page.form.args, "policy.micro=1");
  page.panel.close();
  editor.answer = () => undefined;
  const count = editor.panels.length;
  await editor.run("eagleray.editAndRerun", { row: "run", run: aRun({ id: "new" }), settings });
  assert.equal(editor.panels.length, count);
});

test("a fix that the run can't have says so", async () => {
  await opened("eagleray.debugWithOptions").then((page) => page.send("start"));
  const settings = [{ where: "preset", name: "no_checkpoint", value: "on" }];
  await editor.run("eagleray.editAndRerun", { row: "run", run: aRun({ id: "new" }), settings });
  assert.match(editor.asked.at(-1)?.text ?? "", /none of the settings of this fix/);
});

test("launch.json starts a run, and no session of its own", async () => {
  const config = { type: "eagleray", request: "launch", name: "x", program: "/w/a.py" };
  const began = await debug.startDebugging(undefined, { ...config, ranks: [0] });
  assert.equal(began, false);
  assert.deepEqual([lastAsked().path, lastAsked().ranks], ["/w/a.py", [0]]);
  assert.equal(startedPlans(), 1);
  assert.deepEqual(debug.sessions, []);
});

test("launch.json that does not speak of failures follows the setting", async () => {
  editor.change("eagleray.runs.breakOnFailure", true);
  const config = { type: "eagleray", request: "launch", name: "x", program: "/w/a.py" };
  await debug.startDebugging(undefined, config);
  assert.equal(lastAsked().post_mortem, true);
  await debug.startDebugging(undefined, { ...config, breakOnFailure: false });
  assert.equal(lastAsked().post_mortem, false);
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
  fake.sidecar.notify(CHANGED, { runs: [aRun({ id: "new", state: "exited" })] });
  await settled();
  assert.deepEqual(tasks.done, ["tidy", "both", "broken"]);
  const said = editor.asked.map(({ text }) => text).sort();
  assert.equal(said.length, 2);
  assert.match(said[0] ?? "", /“Workspace: broken” failed after the run \(exit 2\)/);
  assert.match(said[1] ?? "", /has no task “nowhere”/);
});

test("an invalid launch.json shows its error", async () => {
  const config = { type: "eagleray", request: "launch", name: "x" };
  await debug.startDebugging(undefined, config);
  assert.match(editor.asked[0]?.text ?? "", /has nothing to run\. Use one of: program/);
});

test("launch.json with a preset shows what it changes the first time only", async () => {
  const config = { type: "eagleray", request: "launch", name: "x", program: "a.py" };
  let second = 0;
  fake.sidecar.on(PREPARE, () => ({ ...shortened(), after: `name=debug-${(second += 1)}` }));
  await debug.startDebugging(undefined, { ...config, preset: "verl" });
  assert.equal(startedPlans(), 0);
  const page = await ready();
  await page.send("start");
  assert.equal(startedPlans(), 1);
  await debug.startDebugging(undefined, { ...config, preset: "verl" });
  assert.equal(startedPlans(), 2);
  assert.equal(editor.panels.length, 1);
});

test("launch.json is shown again when it, or the effect of its preset, has changed", async () => {
  const config = {
    type: "eagleray",
    request: "launch",
    name: "x",
    program: "a.py",
    preset: "verl",
  };
  await debug.startDebugging(undefined, config);
  const page = await ready();
  await page.send("start");
  await debug.startDebugging(undefined, { ...config, args: ["--more"] });
  await settled();
  assert.equal(startedPlans(), 1);
  assert.equal(page.form.args, "--more");
  const changes = shortened().changes.map((one) => ({ ...one, outcome: "will apply" as const }));
  fake.sidecar.on(PREPARE, () => ({ ...shortened(), changes }));
  await debug.startDebugging(undefined, config);
  assert.equal(startedPlans(), 1);
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
