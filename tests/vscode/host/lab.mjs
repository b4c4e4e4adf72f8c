/** The lab of the tests in the extension host: the extension, a driver with workers, sessions, cleanup. */

import * as assert from "node:assert";
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { lineOf, python, startDriver } from "../harness/ray.mjs";
import { until } from "../harness/until.mjs";

/** From the runner outside: cluster, workspace, base, events (the file for results), only. */
export const test = JSON.parse(process.env.EAGLERAY_TEST);
export const POLICY = path.join(test.workspace, "policy.py");
export const STEPS = path.join(test.workspace, "steps.py");
export const line = (mark, file = POLICY) => lineOf(file, mark);

const LIMIT = 100_000;

/** One per suite: `open()` before its tests, `clean()` after each, `close()` at the end. */
export class Lab {
  calls = [];
  messages = [];

  async open(workers, folder = test.workspace, ...args) {
    this.api = await vscode.extensions.getExtension("eagleray.eagleray").activate();
    this.tracker = vscode.debug.registerDebugAdapterTrackerFactory("eagleray", {
      createDebugAdapterTracker: (session) => ({
        onDidSendMessage: (message) => this.messages.push({ session, message }),
      }),
    });
    await vscode.commands.executeCommand("workbench.view.extension.eagleray");
    this.driver = await startDriver(test.cluster, folder, ...args);
    await this.driver.actors(workers);
  }

  async close() {
    this.tracker?.dispose();
    await this.driver?.stop();
    await until(
      () => this.rows().length === 0,
      "the workers of the driver are gone from the list",
      LIMIT,
    );
  }

  /** Resumes every worker until its call ends, in whatever state the test has left it. */
  async clean() {
    vscode.debug.removeBreakpoints(vscode.debug.breakpoints);
    await setting("autoAttach", undefined);
    await until(
      async () => {
        if (this.calls.every((call) => call.returned()) && sessions().length === 0) return true;
        for (const session of sessions()) await endSession(session);
        for (const row of this.rows()) {
          if (row.state !== "debugging") await this.command("continue", row);
        }
        return false;
      },
      "every worker has finished its call",
      LIMIT,
      500,
    );
    await until(() => this.rows().length === 0, "no row is left", LIMIT);
    this.calls = [];
    this.messages = [];
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
    await vscode.commands.executeCommand("notifications.clearAll");
  }

  call(name, method, ...args) {
    const call = this.driver.call(name, method, ...args);
    this.calls.push(call);
    return call;
  }

  rows() {
    return this.api.paused.value.groups.flatMap((group) => group.workers);
  }

  /** Waits for the row of a worker in a state. */
  row(name, state = "paused") {
    const isWanted = (row) => row.name === name && row.state === state;
    const what = `the panel lists ${name} as ${state}`;
    return this.explained(until(() => this.rows().find(isWanted), what, LIMIT));
  }

  /** The result of a wait, or its error with the situation at its end. */
  async explained(waiting) {
    try {
      return await waiting;
    } catch (error) {
      throw new Error(`${error.message}\n${await this.situation()}`);
    }
  }

  /** The states of the panel, the editor, Ray, the adapter and the workers, for the error of a wait that timed out. */
  async situation() {
    const processes = await this.api.sidecar
      .request({ method: "eagleray/workers/all" }, { cluster: test.cluster.address })
      .then(({ workers }) => workers.filter(({ kind }) => kind === "actor"))
      .catch((error) => [{ name: error.message }]);
    return [
      `panel: ${JSON.stringify(this.rows().map((row) => [row.name, row.state, row.location?.line]))}`,
      `sessions: ${JSON.stringify(sessions().map(nameAndId))}, active: ${nameAndId(vscode.debug.activeDebugSession)}`,
      `calls: ${JSON.stringify(this.calls.map((call) => call.returned() ?? "runs"))}`,
      `workers: ${JSON.stringify(processes.map(({ name, pid, running, paused }) => [name, pid, running, paused]))}`,
      `Ray lists as paused: ${await pausedByRay()}`,
      `adapter:\n${adapterLog()}`,
      ...processes.filter(({ pid }) => pid).map(({ name, pid }) => `${name}:\n${stackOf(pid)}`),
    ].join("\n");
  }

  /** Calls `method` of a worker and waits until its row is there. */
  async pause(name, method, ...args) {
    const call = this.call(name, method, ...args);
    return { call, row: await this.row(name) };
  }

  /** Runs a command of ours with the argument that the tree gives it for a row. */
  command(name, ...rows) {
    return vscode.commands.executeCommand(
      `eagleray.${name}`,
      ...rows.slice(0, 1).map(treeRow),
      rows.map(treeRow),
    );
  }

  /** Attaches as a click on the row does; returns the session once it is stopped at a line. */
  async attach(row) {
    assert.ok(await this.command("attach", row), `attached to ${row.name}`);
    return await this.waitForStop(row);
  }

  /** Waits for a session that is stopped: its session, thread, and frames. */
  waitForStop(row) {
    const stop = async () => {
      // After a restart, VS Code may list the previous session as well, which answers no requests.
      const ofWorker = sessions().filter((each) => each.configuration.worker === row.worker_id);
      for (const session of ofWorker.reverse()) {
        const location = await stopLocation(session).catch(() => undefined);
        if (location) return location;
      }
      return undefined;
    };
    return this.explained(until(stop, `a session is stopped in ${row.name}`, LIMIT));
  }

  events(session, name) {
    return this.messages
      .filter(
        (sent) =>
          sent.session.id === session.id &&
          sent.message.type === "event" &&
          sent.message.event === name,
      )
      .map((sent) => sent.message.body);
  }
}

/** The lab of most tests: starting a driver and its workers takes longer than a test. */
export const common = new Lab();
let opened;

export function openCommon() {
  opened ??= common.open({ p0: 0, p1: 1, p2: 2 });
  return opened;
}

export async function closeCommon() {
  if (opened) await common.close();
}

const nameAndId = (session) => session && `${session.name} ${session.id}`;

async function pausedByRay() {
  const query = "detail=1&filter_keys=num_paused_threads&filter_predicates=%21%3D&filter_values=0";
  try {
    const response = await fetch(`${test.cluster.address}/api/v0/workers?${query}`);
    const { result } = (await response.json()).data.result;
    return JSON.stringify(result.map((each) => [each.pid, each.num_paused_threads]));
  } catch (error) {
    return error.message;
  }
}

function adapterLog() {
  const home = process.env.EAGLERAY_HOME;
  return fs
    .readdirSync(home)
    .filter((name) => name.startsWith("adapter-"))
    .map((name) => fs.readFileSync(path.join(home, name), "utf8").slice(-3000))
    .join("\n");
}

function stackOf(pid) {
  const spy = path.join(path.dirname(python()), "py-spy");
  const { stdout, stderr } = spawnSync(spy, ["dump", "--pid", String(pid)], { encoding: "utf8" });
  return stdout || stderr;
}

function treeRow(worker) {
  const group = { row: "group", cluster: worker.cluster, title: "", workers: [worker] };
  return { row: "worker", worker, group };
}

/** The open sessions, from the events of the editor. */
const open = new Map();
vscode.debug.onDidStartDebugSession(
  (session) => session.type === "eagleray" && open.set(session.id, session),
);
vscode.debug.onDidTerminateDebugSession((session) => open.delete(session.id));
export const sessions = () => [...open.values()];

/**
 * Ends a session.  The editor sends no end of a session that it starts again 0.3 s after Restart, before the old adapter
 * has ended: one that it doesn't know is forgotten.
 */
async function endSession(session) {
  try {
    await vscode.debug.stopDebugging(session);
    await session.customRequest("threads");
  } catch (error) {
    if (/debug session not found/.test(error.message)) open.delete(session.id);
  }
}

/**
 * Steps over in the session that the editor has in front until it is stopped below `lineNumber`, and resolves to
 * its line.  Each step waits for the editor to have the frame in front, without which it ignores the command.
 */
export async function stepBelow(session, lineNumber) {
  for (;;) {
    const { top } = await until(() => stopLocation(session), "the session is stopped", LIMIT);
    if (top.line > lineNumber) return top.line;
    await frameInFront((item) => item.session.id === session.id && item.frameId === top.id);
    await vscode.commands.executeCommand("workbench.action.debug.stepOver");
    const hasStepped = async () =>
      ((await stopLocation(session))?.top.line ?? top.line) !== top.line;
    await until(hasStepped, `it stepped from line ${top.line}`, LIMIT);
  }
}

/** Waits until the editor has a frame in front, `isWanted`, without which it ignores commands of the debugger. */
export function frameInFront(isWanted = () => true) {
  const isInFront = () => {
    const item = vscode.debug.activeStackItem;
    return item instanceof vscode.DebugStackFrame && isWanted(item);
  };
  return until(isInFront, "the editor has the frame in front", LIMIT);
}

/**
 * Runs a command of the debugger on the session that is stopped at `at`.  The editor runs it on the session in front,
 * which may still be one that has ended: Restart then starts that one again.
 */
export async function debugCommand({ session }, name) {
  await frameInFront((item) => item.session.id === session.id);
  await vscode.commands.executeCommand(`workbench.action.debug.${name}`);
}

/** The file of a frame: the editor hands paths to extensions as addresses of the remote machine. */
export function fileOf(frame) {
  const given = frame.source?.path ?? "";
  return given.startsWith("vscode-remote:") ? vscode.Uri.parse(given).path : given;
}

/** The stop location of a session, or undefined while it runs. */
async function stopLocation(session) {
  const { threads } = await session.customRequest("threads");
  for (const thread of threads) {
    const frames = await session.customRequest("stackTrace", { threadId: thread.id }).then(
      (stack) => stack.stackFrames,
      () => [],
    );
    if (frames.length > 0) return { session, threadId: thread.id, frames, top: frames[0] };
  }
  return undefined;
}

/** Waits until the session is stopped at `lineNumber` in its topmost frame. */
export function waitForStopAt(session, lineNumber) {
  let last;
  return until(
    async () => {
      last = await stopLocation(session);
      return last?.top.line === lineNumber ? last : undefined;
    },
    `the session is stopped at line ${lineNumber}`,
    LIMIT,
  ).catch((error) => {
    throw new Error(
      `${error.message}; it is stopped at ${last && fileOf(last.top)}:${last?.top.line}`,
    );
  });
}

export async function variables(at, scopeName = "Locals") {
  const { scopes } = await at.session.customRequest("scopes", { frameId: at.top.id });
  const scope = scopes.find((each) => each.name === scopeName);
  const answer = await at.session.customRequest("variables", {
    variablesReference: scope.variablesReference,
  });
  return Object.fromEntries(answer.variables.map(({ name, value }) => [name, value]));
}

export async function evaluate(at, expression, context = "repl") {
  const answer = await at.session.customRequest("evaluate", {
    expression,
    context,
    frameId: at.top.id,
  });
  return answer.result;
}

/** Waits until the editor shows `lineNumber` of `file`. */
export function editorAt(file, lineNumber) {
  return until(
    () => {
      const editor = vscode.window.activeTextEditor;
      return (
        editor?.document.uri.fsPath === file &&
        editor.visibleRanges.some(
          (range) => range.start.line < lineNumber && lineNumber <= range.end.line + 1,
        )
      );
    },
    `the editor shows ${path.basename(file)}:${lineNumber}`,
    LIMIT,
  );
}

export function breakpoint(lineNumber, { condition, log } = {}, file = POLICY) {
  const place = new vscode.Location(vscode.Uri.file(file), new vscode.Position(lineNumber - 1, 0));
  vscode.debug.addBreakpoints([
    new vscode.SourceBreakpoint(place, true, condition, undefined, log),
  ]);
}

/** Continues the session's thread. */
export async function proceed(at) {
  await at.session.customRequest("continue", { threadId: at.threadId });
}

export async function setting(name, value) {
  const config = vscode.workspace.getConfiguration("eagleray");
  await config.update(name, value, vscode.ConfigurationTarget.Global);
}

export { assert, until, LIMIT };
