// The commands of runs with a fake editor and a fake sidecar: what is asked for, started, shown and said.
import assert from "node:assert/strict";
import { test } from "node:test";

import { EaglerayError } from "../../extension/common/errors";
import { COMMANDS } from "../../extension/contributions";
import {
  CHANGED,
  COMMAND,
  FORGET,
  LIST,
  RESTART,
  START,
  STOP,
  type Restart,
  type Run,
  type Start,
  type RunServer,
} from "../../extension/runs/messages";
import { PLAIN } from "../../extension/runs/draft";
import { keepOptions, optionsOfRun } from "../../extension/runs/last_options";
import type { RunRequest } from "../../extension/runs/messages";
import { PREPARE, type Proposal } from "../../extension/runs/presets/messages";
import { settled, type FakeApp } from "../fakes/app";
import { registeredForEach, registerRuns } from "../fakes/registered";
import { debug, editor, SourceBreakpoint, Uri, type FakeTreeView } from "../fakes/vscode";
import { clustersOf } from "../debug/workers/samples";
import { aRun, FOLDER, proposal, runLine, runWorker } from "./samples";

let fake: FakeApp;

registeredForEach(registerRuns, (made) => {
  fake = made;
  const { sidecar } = fake;
  sidecar.on(PREPARE, () => proposal());
  sidecar.on(LIST, () => ({ runs: [] }));
  sidecar.on(COMMAND, ({ id }) => ({ text: `exact ${id}` }));
  sidecar.on(START, () => ({ id: "new" }));
  sidecar.on(RESTART, () => ({ id: "newer" }));
  editor.folders = [{ uri: Uri.file(FOLDER), name: "project", index: 0 }];
  editor.inView = { uri: Uri.file(`${FOLDER}/train.py`), languageId: "python" };
});

function list(...runs: Run[]): void {
  fake.sidecar.on(LIST, () => ({ runs }));
  fake.sidecar.notify(CHANGED, { runs });
}

function prepared(): RunRequest {
  return fake.sidecar.sentTo(PREPARE)[0] as RunRequest;
}

function started(): readonly Start[] {
  return fake.sidecar.sentTo(START) as Start[];
}

function point(line: number, more = {}): SourceBreakpoint {
  const range = { start: { line: line - 1 } };
  return new SourceBreakpoint({ uri: Uri.file(`${FOLDER}/policy.py`), range }, true, more);
}

test("without a launch.json the editor offers the file with its last options and without, once each", async () => {
  const folders = editor.folders;
  assert.deepEqual(await debug.offered(...folders), ["Debug train.py on Ray"]);
  const draft = { ...PLAIN, path: `${FOLDER}/train.py`, cwd: FOLDER };
  await keepOptions(fake.app, draft.path, draft);
  assert.deepEqual(await debug.offered(...folders), ["Debug train.py on Ray"]);
  await keepOptions(fake.app, draft.path, { ...draft, args: ["--steps", "5"], ranks: [3] });
  const names = ["Debug train.py --steps 5 on Ray", "Debug train.py on Ray, without options"];
  assert.deepEqual(await debug.offered(...folders), names);
  editor.inView = { uri: Uri.file(`${FOLDER}/notes.md`), languageId: "markdown" };
  assert.deepEqual(await debug.offered(...folders), []);
});

test("“Debug on Ray” starts the file in the editor with the breakpoints of the gutter, without a question", async () => {
  debug.breakpoints = [point(12, { condition: "step > 3" })];
  await editor.run("eagleray.debug");
  const { path, cwd, kind, preset, workspace, breakpoints } = prepared();
  assert.deepEqual(
    [path, cwd, kind, preset, workspace],
    [`${FOLDER}/train.py`, FOLDER, "", "none", FOLDER],
  );
  const lines = [{ line: 12, condition: "step > 3", hit: "", log: "" }];
  assert.deepEqual(breakpoints, [{ path: `${FOLDER}/policy.py`, lines }]);
  assert.deepEqual(started(), [
    { plan: proposal().plan, python: "", confirmed: false, anyway: false },
  ]);
  assert.equal(editor.asked.length, 0);
  assert.equal(editor.saved, 1);
});

test("the menu’s file is run, outside the folder in its own directory", async () => {
  await editor.run("eagleray.debug", Uri.file("/elsewhere/go.sh"));
  assert.deepEqual([prepared().path, prepared().cwd], ["/elsewhere/go.sh", "/elsewhere"]);
});

test("running without a program shows the next step", async () => {
  editor.inView = { uri: Uri.file("/w/notes.md"), languageId: "markdown" };
  await editor.run("eagleray.debug");
  assert.match(
    editor.asked[0]?.text ?? "",
    /^No Python file or shell script is open.*Debug on Ray with Options…/,
  );
  assert.deepEqual(editor.asked[0]?.buttons, ["Show Log"]);
  assert.deepEqual(started(), []);
});

test("the output opens beside the editor, unless the setting is off", async () => {
  fake.sidecar.on(LIST, () => ({ runs: [aRun({ id: "new", name: "run $(x)" })] }));
  await editor.run("eagleray.debug");
  const [terminal] = editor.terminals;
  assert.equal(terminal?.options["shellPath"], undefined);
  assert.doesNotMatch(String(terminal?.options["name"]), /\$\(/);
  assert.equal(terminal?.beside, true);
  editor.change("eagleray.runs.showOutput", false);
  await editor.run("eagleray.debug");
  assert.equal(editor.terminals.length, 1);
});

test("closing the output stops no run, and its row opens it again", async () => {
  list(aRun());
  const row = { row: "run", run: aRun() };
  await editor.run("eagleray.showOutput", row);
  await editor.run("eagleray.showOutput", row);
  assert.equal(editor.terminals.length, 1);
  editor.terminals[0]?.close();
  assert.deepEqual(fake.sidecar.sentTo(STOP), []);
  await editor.run("eagleray.showOutput", row);
  assert.equal(editor.terminals.length, 2);
});

test("two requests for the output at once open one terminal", async () => {
  list(aRun());
  const row = { row: "run", run: aRun() };
  await Promise.all([1, 2].map(() => editor.run("eagleray.showOutput", row)));
  assert.equal(editor.terminals.length, 1);
});

test("SLURM gets no request before the user has seen the exact command", async () => {
  fake.sidecar.on(PREPARE, () => proposal({ confirm: "sbatch --parsable go.sbatch" }));
  await editor.run("eagleray.debug");
  assert.equal(editor.asked[0]?.text, "Submit train.py to SLURM?");
  assert.deepEqual(editor.asked[0].options, {
    modal: true,
    detail: "sbatch --parsable go.sbatch",
  });
  assert.deepEqual(started(), []);
  editor.answer = ({ buttons }) => buttons[0];
  await editor.run("eagleray.debug");
  assert.deepEqual(
    started().map((one) => one.confirmed),
    [true],
  );
});

test("problems of a run are shown, and it starts all the same", async () => {
  const problem = {
    code: "no-arguments",
    message: "It drops its arguments.",
    next_step: "Add $@.",
  };
  fake.sidecar.on(PREPARE, () => proposal({ problems: [problem] }));
  await editor.run("eagleray.debug");
  assert.equal(editor.asked[0]?.text, "It drops its arguments. Add $@.");
  assert.equal(started().length, 1);
});

test("several problems of a run are one message, and the log has all of them", async () => {
  const problem = (code: string): object => ({ code, message: `${code}.`, next_step: "Fix it." });
  const problems = [problem("first"), problem("second")] as Proposal["problems"];
  fake.sidecar.on(PREPARE, () => proposal({ problems }));
  editor.answer = ({ kind }) => (kind === "warning" ? "Show Log" : undefined);
  await editor.run("eagleray.debug");
  const texts = editor.asked.map(({ kind, text, buttons }) => [kind, text, buttons]);
  assert.deepEqual(texts, [["warning", "2 problems. The first: first. Fix it.", ["Show Log"]]]);
  assert.equal(fake.log.shown, true);
  assert.match(fake.log.text, /second: second\. Fix it\./);
});

test("a rejected start shows the error of the catalogue", async () => {
  fake.sidecar.on(START, () => {
    throw new EaglerayError("job-refused", "The cluster refused the job.", "Its log says why.");
  });
  await editor.run("eagleray.debug");
  assert.equal(editor.asked[0]?.text, "The cluster refused the job. Its log says why.");
  assert.equal(editor.terminals.length, 0);
});

test("in a workspace that is not trusted nothing is started, by whichever command", async () => {
  editor.trusted = false;
  list(aRun());
  const { debug: start, debugWithOptions, rerunLast, shortTestRun } = COMMANDS;
  const { restartRun, showOutput } = COMMANDS;
  const commands = [start, debugWithOptions, rerunLast, shortTestRun, restartRun, showOutput];
  for (const id of commands) {
    await editor.run(id);
  }
  const config = { type: "eagleray", request: "launch", name: "x", program: "train.py" };
  assert.equal(await debug.startDebugging(undefined, config), false);
  assert.deepEqual(
    editor.asked.map((one) => one.text),
    [...commands, "launch"].map(() => "Trust this workspace to run programs."),
  );
  assert.deepEqual(fake.sidecar.sent, []);
  assert.deepEqual(editor.terminals, []);
});

test("“Rerun Last” needs no form: what this window ran last, with the breakpoints of now", async () => {
  const over = { state: "exited", ended: 1 } as const;
  list(
    aRun({ id: "other", workspace: "/v" }),
    aRun({ id: "last", ...over }),
    aRun({ id: "older" }),
  );
  debug.breakpoints = [point(3)];
  await editor.run("eagleray.rerunLast");
  const lines = [{ line: 3, condition: "", hit: "", log: "" }];
  const breakpoints = [{ path: `${FOLDER}/policy.py`, lines }];
  const asked = { id: "last", breakpoints, confirmed: false, server_env: null };
  assert.deepEqual(fake.sidecar.sentTo(RESTART), [{ ...asked, python: "", anyway: false }]);
  assert.equal(editor.asked.length, 0);
});

test("“Rerun Last” in a new window runs the last program of the workspace", async () => {
  fake.sidecar.on(LIST, () => ({ runs: [aRun({ id: "before", state: "failed" })] }));
  await editor.run("eagleray.rerunLast");
  assert.deepEqual(
    fake.sidecar.sentTo(RESTART).map((one) => (one as { id: string }).id),
    ["before"],
  );
});

const OF_SERVER = { OPENAI_BASE_URL: "http://127.0.0.1:8000/v1", OPENAI_API_KEY: "sk-test" };

test("a run gets the variables of the chosen server, and the editor stores none of them", async () => {
  fake.app.serverVariables.set(OF_SERVER);
  await editor.run("eagleray.debug");
  assert.deepEqual(prepared().server_env, OF_SERVER);
  assert.deepEqual(prepared().env, {});
  assert.deepEqual(optionsOfRun(fake.app, "new")?.draft.env, {});
});

test("“Rerun Last” sends the variables of the server that is chosen now", async () => {
  fake.app.serverVariables.set(OF_SERVER);
  list(aRun({ id: "program", state: "failed" }));
  await editor.run("eagleray.rerunLast");
  const [sent] = fake.sidecar.sentTo(RESTART) as Restart[];
  assert.deepEqual(sent?.server_env, OF_SERVER);
});

test("“Rerun Last” leaves a server that was started last as it is", async () => {
  const server: RunServer = {
    name: "llama.cpp",
    state: "ready",
    url: "",
    model: "",
    reason: "",
    warning: "",
  };
  list(aRun({ id: "server", server }), aRun({ id: "program", state: "failed" }));
  await editor.run("eagleray.rerunLast");
  assert.deepEqual(
    fake.sidecar.sentTo(RESTART).map((one) => (one as { id: string }).id),
    ["program"],
  );
});

test("“Rerun Last” before anything was run starts the file in the editor", async () => {
  await editor.run("eagleray.rerunLast");
  assert.equal(prepared().path, `${FOLDER}/train.py`);
  assert.equal(started().length, 1);
});

test("stopping asks if the run requires it, and takes the only live run", async () => {
  list(aRun({ state: "exited", ended: 1 }), aRun({ id: "live", confirm_stop: "Cancel job 5?" }));
  await editor.run("eagleray.stopRun");
  assert.equal(editor.asked[0]?.options["detail"], "Cancel job 5?");
  assert.deepEqual(fake.sidecar.sentTo(STOP), []);
  editor.answer = ({ buttons }) => buttons[0];
  await editor.run("eagleray.stopRun");
  assert.deepEqual(fake.sidecar.sentTo(STOP), [{ id: "live", confirmed: true }]);
});

test("the user picks one of several runs; a message says that none fits", async () => {
  list(aRun({ id: "one" }), aRun({ id: "two" }));
  editor.answer = ({ options }) => (options["items"] as object[] | undefined)?.[1];
  await editor.run("eagleray.stopRun");
  assert.deepEqual(fake.sidecar.sentTo(STOP), [{ id: "two", confirmed: false }]);
  await editor.run("eagleray.removeRun");
  assert.equal(editor.asked.at(-1)?.text, "No run has ended yet.");
});

test("the exact command is copied, and a run that has ended is forgotten", async () => {
  const run = aRun({ state: "exited", ended: 1 });
  list(run);
  await editor.run("eagleray.copyCommand", { row: "run", run });
  assert.equal(editor.clipboard, `exact ${run.id}`);
  await editor.run("eagleray.removeRun", { row: "run", run });
  assert.deepEqual(fake.sidecar.sentTo(FORGET), [{ id: run.id }]);
});

test("a run is not removed by the row of its worker, nor by a key without a row", async () => {
  const run = aRun({ state: "exited", ended: 1, workers: [runWorker()] });
  list(run);
  await editor.run("eagleray.removeRun", { row: "runWorker", run, worker: run.workers[0] });
  assert.equal(editor.asked.at(-1)?.text, "Select a run to remove it.");
  await editor.run("eagleray.removeRun", "focusedRow");
  assert.deepEqual(fake.sidecar.sentTo(FORGET), []);
});

test("runs are listed again after a start of the sidecar, and a click on a line opens it", async () => {
  const line = runLine({ state: "moved", line: 3, moved_to: 5 });
  const runs = [aRun({ lines: [line] })];
  fake.sidecar.answers.set("eagleray/runs/list", () => ({ runs }));
  fake.sidecar.answers.set("eagleray/profiling/list", () => ({ runs: [] }));
  fake.sidecar.answers.set("eagleray/clusters/list", () => clustersOf([]));
  fake.sidecar.started();
  await settled();
  const view = editor.views.get("eagleray.runs") as FakeTreeView<object>;
  const [run] = view.provider.getChildren();
  const [breakpoints] = view.provider.getChildren(run);
  const [row] = view.provider.getChildren(breakpoints);
  assert.ok(row);
  assert.equal(view.provider.getTreeItem(row).command?.command, "eagleray.goToBreakpoint");
  await editor.run("eagleray.goToBreakpoint", row);
  assert.deepEqual(editor.shown.at(-1), { path: line.path, line: 4 });
});
