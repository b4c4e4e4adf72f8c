// Automatic actions of a window while runs continue: breakpoints reach them, and their stops come to the front.
import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";

import { EaglerayError } from "../../extension/common/errors";
import {
  BREAKPOINTS,
  CHANGED,
  LIST,
  PAUSE,
  type Run,
  type RunWorkerStatus,
  type SetBreakpoints,
} from "../../extension/runs/messages";
import { settled, type FakeApp } from "../fakes/app";
import { registeredForEach, registerRuns } from "../fakes/registered";
import { debug, editor, SourceBreakpoint, Uri } from "../fakes/vscode";
import { aRun, FOLDER, runLine, runWorker } from "./samples";

/** Longer than any patience of the feature. */
const LONG_MS = 10_000;

let fake: FakeApp;

beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
});

registeredForEach(registerRuns, (made) => {
  fake = made;
  editor.folders = [{ uri: Uri.file(FOLDER), name: "project", index: 0 }];
});

afterEach(() => {
  mock.timers.reset();
});

async function list(...runs: Run[]): Promise<void> {
  fake.sidecar.on(LIST, () => ({ runs }));
  fake.sidecar.notify(CHANGED, { runs });
  await settled();
}

async function later(): Promise<void> {
  mock.timers.tick(LONG_MS);
  await settled();
}

function point(path: string, line: number, enabled = true, more = {}): SourceBreakpoint {
  const at = { uri: Uri.file(path), range: { start: { line: line - 1 } } };
  return new SourceBreakpoint(at, enabled, more);
}

function told(): readonly SetBreakpoints[] {
  return fake.sidecar.sentTo(BREAKPOINTS) as SetBreakpoints[];
}

/** The workers that were attached to, by the command that a click runs. */
function attached(): readonly unknown[] {
  return editor.executed
    .filter(({ command }) => command === "eagleray.attach")
    .map(({ args }) => (args[0] as { worker: string }).worker);
}

function standing(...workers: string[]): Run {
  const stopped = workers.map((worker_id) => runWorker({ worker_id, state: "paused" }));
  return aRun({ state: "paused", workers: stopped });
}

interface Tracker {
  onWillStartSession(): void;
  onDidSendMessage(message: object): void;
  onWillReceiveMessage(message: object): void;
  onWillStopSession(): void;
}

function sessionOf(worker: string): Tracker {
  const configuration = { cluster: "http://c:1", worker };
  const session = { id: `session ${worker}`, type: "eagleray", name: worker, configuration };
  const tracker = debug.trackers[0]?.createDebugAdapterTracker(session) as Tracker;
  tracker.onWillStartSession();
  return tracker;
}

test("changes in the gutter reach a live run together, once they have come to rest", async () => {
  await list(aRun());
  await later();
  assert.deepEqual(told(), [{ workspace: FOLDER, breakpoints: [] }]);
  debug.setBreakpoints(point("/w/b.py", 9));
  debug.setBreakpoints(point("/w/b.py", 9), point("/w/a.py", 2, true, { logMessage: "x={x}" }));
  await later();
  const line = { condition: "", hit: "", log: "" };
  assert.deepEqual(told().slice(1), [
    {
      workspace: FOLDER,
      breakpoints: [
        { path: "/w/a.py", lines: [{ ...line, line: 2, log: "x={x}" }] },
        { path: "/w/b.py", lines: [{ ...line, line: 9 }] },
      ],
    },
  ]);
});

test("disabled breakpoints, and those in other languages and documents, are ignored", async () => {
  await list(aRun());
  const uri = Uri.from({ scheme: "untitled", path: "/w/c.py" });
  const elsewhere = new SourceBreakpoint({ uri, range: { start: { line: 0 } } });
  debug.setBreakpoints(point("/w/a.py", 2, false), point("/w/b.js", 1), elsewhere);
  await later();
  assert.deepEqual(told().at(-1)?.breakpoints, []);
});

test("without a live run of this window no breakpoint is sent, and no sidecar starts", async () => {
  await list(aRun({ state: "exited", ended: 1 }), aRun({ workspace: "/v" }));
  debug.setBreakpoints(point("/w/a.py", 2));
  await later();
  assert.deepEqual(told(), []);
});

test("a window without a folder has runs of its own, and nothing to do with runs of a terminal", async () => {
  editor.folders = [];
  await list(aRun({ workspace: "" }));
  debug.setBreakpoints(point("/w/a.py", 2));
  await later();
  assert.deepEqual(told(), []);
  await list(aRun({ workspace: "window 5e55" }));
  await later();
  assert.equal(told()[0]?.workspace, "window 5e55");
});

test("a run that returns after a failed request gets the next change", async () => {
  fake.sidecar.on(BREAKPOINTS, () => {
    throw new Error("lost");
  });
  await list(aRun());
  await later();
  assert.equal(editor.asked.length, 0);
  assert.match(fake.log.text, /breakpoints were not told/);
  fake.sidecar.on(BREAKPOINTS, () => ({}));
  debug.setBreakpoints();
  await later();
  assert.equal(told().length, 2);
});

test("breakpoints that failed to be sent are sent when the sidecar is back", async () => {
  fake.sidecar.on(BREAKPOINTS, () => {
    throw new Error("lost");
  });
  await list(aRun());
  debug.setBreakpoints(point("/w/a.py", 2));
  await later();
  fake.sidecar.on(BREAKPOINTS, () => ({}));
  await list(aRun());
  await later();
  assert.equal(told().length, 2);
  await list(aRun());
  await later();
  assert.equal(told().length, 2);
});

test("a worker that stops comes to the front, the next one after the user continues", async () => {
  await list(aRun());
  await list(standing("a", "b"));
  assert.deepEqual(attached(), ["a"]);
  const session = sessionOf("a");
  session.onDidSendMessage({ type: "event", event: "stopped" });
  await list(standing("a", "b", "c"));
  await later();
  assert.deepEqual(attached(), ["a"]);
  session.onDidSendMessage({ type: "response", command: "continue", success: true });
  await later();
  assert.deepEqual(attached(), ["a", "b"]);
});

test("workers that come to the front are announced by no notification", async () => {
  await list(aRun({ workspace: "/v", workers: [runWorker({ worker_id: "z" })] }), standing("a"));
  assert.deepEqual([...fake.app.broughtUp.value], ["a"]);
  editor.change("eagleray.runs.showStops", false);
  await list(standing("a"));
  assert.deepEqual([...fake.app.broughtUp.value], []);
});

test("a loop that stops again at once stays in front", async () => {
  await list(aRun());
  await list(standing("a"));
  const session = sessionOf("a");
  session.onDidSendMessage({ type: "event", event: "stopped" });
  await list(standing("a", "b"));
  session.onDidSendMessage({ type: "response", command: "continue", success: true });
  // The list may say that it runs before the editor is told of the next stop.
  await list(standing("b"));
  session.onDidSendMessage({ type: "event", event: "stopped" });
  await later();
  assert.deepEqual(attached(), ["a"]);
  session.onDidSendMessage({ type: "response", command: "continue", success: true });
  await later();
  assert.deepEqual(attached(), ["a", "b"]);
});

test("the status bar announces other workers that pause, and no steps", async () => {
  const worker = (id: string, state: "paused" | "debugging", stop: number): RunWorkerStatus =>
    runWorker({ worker_id: id, name: id, state, stop });
  await list(aRun());
  await list(aRun({ workers: [worker("a", "paused", 1)] }));
  sessionOf("a").onDidSendMessage({ type: "event", event: "stopped" });
  for (const stop of [1, 2, 3]) {
    await list(aRun({ workers: [worker("a", "debugging", stop)] }));
  }
  assert.deepEqual(editor.statusMessages, []);
  await list(aRun({ workers: [worker("a", "debugging", 4), worker("b", "paused", 1)] }));
  await list(aRun({ workers: [worker("a", "debugging", 5), worker("b", "paused", 2)] }));
  assert.deepEqual(editor.statusMessages, Array(2).fill("$(debug-pause) b paused"));
});

test("when its session ends the next one that waits comes to the front", async () => {
  await list(aRun());
  await list(standing("a"));
  const session = sessionOf("a");
  session.onDidSendMessage({ type: "event", event: "stopped" });
  await list(standing("a", "b"));
  session.onDidSendMessage({ type: "event", event: "terminated" });
  session.onWillReceiveMessage({ type: "request", command: "disconnect" });
  session.onWillStopSession();
  await later();
  assert.deepEqual(attached(), ["a", "b"]);
});

test("disconnecting attaches to no worker that was stopped already", async () => {
  await list(aRun());
  await list(standing("a", "b"));
  const session = sessionOf("a");
  session.onDidSendMessage({ type: "event", event: "stopped" });
  session.onWillReceiveMessage({ type: "request", command: "disconnect" });
  session.onWillStopSession();
  await later();
  assert.deepEqual(attached(), ["a"]);
  await list(standing("b", "c"));
  assert.deepEqual(attached(), ["a", "c"]);
});

test("workers stopped before the window opened are not attached", async () => {
  await list(standing("a"));
  await later();
  assert.deepEqual(attached(), []);
  await list(aRun({ workers: [runWorker({ worker_id: "a" })] }));
  await list(standing("a"));
  assert.deepEqual(attached(), ["a"]);
});

test("stops of another folder’s run wait in the list, and so do all when that is wanted", async () => {
  await list(aRun({ workspace: "/v" }));
  await list({ ...standing("a"), workspace: "/v" });
  editor.change("eagleray.runs.showStops", false);
  await list(standing("b"));
  await later();
  assert.deepEqual(attached(), []);
});

test("a worker that was asked to pause comes to the front over any other", async () => {
  const worker = runWorker({ worker_id: "a", state: "running" });
  const run = aRun({ workers: [worker] });
  await list(run);
  sessionOf("z").onDidSendMessage({ type: "event", event: "stopped" });
  await editor.run("eagleray.pauseWorker", { row: "runWorker", run, worker });
  assert.deepEqual(fake.sidecar.sentTo(PAUSE), [{ run: run.id, worker_id: "a" }]);
  await list(standing("a"));
  assert.deepEqual(attached(), ["a"]);
});

test("a worker that could not be asked to pause is not waited for", async () => {
  const worker = runWorker({ worker_id: "a", state: "running" });
  const run = aRun({ workspace: "/v", workers: [worker] });
  await list(run);
  fake.sidecar.on(PAUSE, () => {
    throw new EaglerayError("worker-gone", "It has ended.", "Look at its log.");
  });
  await editor.run("eagleray.pauseWorker", { row: "runWorker", run, worker });
  assert.equal(editor.asked[0]?.text, "It has ended. Look at its log.");
  await list({ ...standing("a"), workspace: "/v" });
  assert.deepEqual(attached(), []);
});

test("“Pause Worker” without a row offers running workers, or says that there is none", async () => {
  await list(standing("a"));
  await editor.run("eagleray.pauseWorker");
  assert.equal(editor.asked[0]?.text, "No worker of a run is running.");
  await list(aRun({ workers: [runWorker(), runWorker({ worker_id: "b", state: "running" })] }));
  editor.answer = ({ options }) => (options["items"] as object[])[1];
  await editor.run("eagleray.pauseWorker");
  assert.deepEqual(fake.sidecar.sentTo(PAUSE), [{ run: aRun().id, worker_id: "b" }]);
});

test("beside a line that moved or cannot be reached the editor says so, as long as a run has it", async () => {
  const notes: (readonly [number, string])[][] = [];
  const lineAt = (line: number): object => ({ range: line });
  const document = { uri: Uri.file("/w/project/policy.py"), lineCount: 20, lineAt };
  const setDecorations = (_: unknown, all: readonly Decoration[]): void => {
    notes.push(all.map((one) => [one.range, one.renderOptions.after.contentText]));
  };
  editor.visible = [{ document, setDecorations }];
  const moved = runLine({ line: 12, state: "moved", moved_to: 14 });
  const other = runLine({ path: "/w/project/other.py", line: 3, state: "unreachable" });
  const gone = runLine({ line: 90, state: "unreachable" });
  await list(aRun({ lines: [moved, other, gone, runLine({ line: 5 })] }));
  assert.deepEqual(notes.at(-1), [[11, "moved to line 14"]]);
  await list(aRun({ state: "exited", ended: 1, lines: [moved] }));
  assert.deepEqual(notes.at(-1), []);
});

interface Decoration {
  readonly range: number;
  readonly renderOptions: { readonly after: { readonly contentText: string } };
}
