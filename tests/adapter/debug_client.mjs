// A debug session of Microsoft's DebugClient on the socket of a held worker; every message that comes is checked
// against the protocol's types.  Arguments: SOCKET FILE.  The worker stands in `train` of loop.py, line 10.
import { createRequire } from "node:module";
import { createConnection } from "node:net";
import assert from "node:assert/strict";

import { Protocol } from "./protocol_types.mjs";

const { DebugClient } = createRequire(import.meta.url)("@vscode/debugadapter-testsupport");
const [socket, file] = process.argv.slice(2);
const stream = createConnection(socket);
const source = { path: file };
const threadId = 1;

const client = new DebugClient("", "", "eagleray");
const received = [];
const dispatch = client.dispatch.bind(client);
client.dispatch = (body) => {
  received.push(JSON.parse(body));
  dispatch(body);
};

/** The body of the response to a request. */
async function ask(command, args) {
  return (await client.send(command, args)).body;
}

/** The stop that follows a request, with its stack. */
async function stopAfter(request) {
  const [stopped] = await Promise.all([client.waitForEvent("stopped", 60_000), request()]);
  const { stackFrames } = await ask("stackTrace", { threadId, startFrame: 0, levels: 20 });
  return { reason: stopped.body.reason, line: stackFrames[0].line, frameId: stackFrames[0].id };
}

async function begin() {
  // `start` knows ports of TCP only.
  client.connect(stream, stream);
  await client.initializeRequest({
    adapterID: "eagleray",
    linesStartAt1: true,
    pathFormat: "path",
  });
  await Promise.all([client.waitForEvent("initialized"), client.attachRequest({})]);
  const breakpoints = [
    { line: 12, condition: "step == 0" },
    { line: 11, logMessage: "loss is {loss}" },
    { line: 13, condition: "(((" },
  ];
  const set = await ask("setBreakpoints", { source, breakpoints });
  assert.deepEqual(
    set.breakpoints.map((row) => row.verified),
    [true, true, false],
  );
  await ask("setFunctionBreakpoints", { breakpoints: [] });
  await ask("setExceptionBreakpoints", { filters: ["uncaught"] });
  return await stopAfter(() => client.configurationDoneRequest());
}

async function look(frameId) {
  await ask("threads");
  const { modules } = await ask("modules", { startModule: 0, moduleCount: 5 });
  // The one place where the protocol lets an adapter add properties of its own.
  const listed = received.findLast((message) => message.command === "modules");
  for (const module of listed.body.modules) delete module.package;
  assert.ok(modules.length > 0);
  const { scopes } = await ask("scopes", { frameId });
  const { variablesReference } = scopes[0];
  const { variables } = await ask("variables", { variablesReference });
  assert.equal(variables.find(({ name }) => name === "loss").value, "1.0");
  for (const context of ["watch", "hover", "repl", "clipboard"]) {
    assert.equal((await ask("evaluate", { expression: "step", frameId, context })).result, "0");
  }
  await ask("completions", { text: "lo", column: 3, frameId });
  await ask("setVariable", { variablesReference, name: "loss", value: "2.0" });
  await ask("setExpression", { expression: "loss", value: "4.0", frameId });
  await ask("stepInTargets", { frameId });
  await assert.rejects(ask("evaluate", { expression: "nothing_here", frameId, context: "watch" }));
  await assert.rejects(ask("variables", { variablesReference: 99_999 }));
  await assert.rejects(ask("loadedSources"), /not supported/);
  await assert.rejects(ask("exceptionInfo", { threadId: 99 }), /not paused/);
}

async function move() {
  assert.equal((await stopAfter(() => ask("continue", { threadId }))).line, 12);
  const { targets } = await ask("gotoTargets", { source, line: 10 });
  const gone = await stopAfter(() => ask("goto", { threadId, targetId: targets[0].id }));
  assert.equal(gone.line, 10);
  assert.equal((await stopAfter(() => ask("next", { threadId }))).line, 11);
  assert.equal((await stopAfter(() => ask("stepIn", { threadId }))).line, 12);
  await stopAfter(() => ask("stepOut", { threadId }));
  await ask("setBreakpoints", { source, breakpoints: [] });
  return await stopAfter(() => ask("continue", { threadId }));
}

const first = await begin();
assert.deepEqual([first.reason, first.line], ["breakpoint", 10]);
await look(first.frameId);
assert.equal((await move()).line, 10);
await client.disconnectRequest({ terminateDebuggee: false, suspendDebuggee: true });
stream.end();

const problems = new Protocol().problems(received);
assert.deepEqual(problems, []);
console.log(`${received.length} messages`);
