/** Attaching to one worker and debugging it. */

import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import {
  assert,
  breakpoint,
  evaluate,
  fileOf,
  common,
  LIMIT,
  openCommon,
  line,
  proceed,
  sessions,
  waitForStopAt,
  stepBelow,
  test,
  until,
  variables,
} from "./lab.mjs";

export function attaching() {
  describe("one worker:", function () {
    const lab = common;
    before(openCommon);
    afterEach(() => lab.clean());

    it("the debug console evaluates and changes values", async () => {
      const { call, row } = await lab.pause("p0", "train", 0);
      const at = await lab.attach(row);
      assert.strictEqual(await evaluate(at, "state['loss'] * 2"), "1.0");
      await evaluate(at, "state['step'] = 100");
      await proceed(at);
      assert.strictEqual((await call.result()).value, 105);
    });

    it("Ray's own frames are folded", async () => {
      const { row } = await lab.pause("p0", "train", 0);
      const at = await lab.attach(row);
      const plain = at.frames.filter((frame) => frame.presentationHint !== "subtle");
      assert.ok(
        plain.length > 0 && !plain.some((frame) => /\/ray\/|pydevd|debugpy/.test(fileOf(frame))),
      );
    });

    it("steps over and into", async () => {
      const { row } = await lab.pause("p0", "train", 0);
      const at = await lab.attach(row);
      await at.session.customRequest("stepIn", { threadId: at.threadId });
      await until(
        async () => (await lab.waitForStop(row)).top.name.endsWith("mean_of"),
        "it is in mean_of",
        LIMIT,
      );
      await at.session.customRequest("stepOut", { threadId: at.threadId });
      await until(
        async () => (await lab.waitForStop(row)).top.name.endsWith("train"),
        "it is back in train",
        LIMIT,
      );
      await stepBelow(at.session, line("after"));
    });

    it("a conditional breakpoint stops where its condition is true", async () => {
      const { row } = await lab.pause("p0", "train", 0);
      const at = await lab.attach(row);
      breakpoint(line("loop"), { condition: "index == 3" });
      await verified(lab, at, line("loop"));
      await proceed(at);
      const next = await waitForStopAt(at.session, line("loop"));
      assert.strictEqual(await evaluate(next, "index"), "3");
    });

    it("a log breakpoint writes to the console and does not stop", async () => {
      const { call, row } = await lab.pause("p0", "train", 0);
      const at = await lab.attach(row);
      breakpoint(line("loop"), { log: "index is {index}" });
      await verified(lab, at, line("loop"));
      await proceed(at);
      assert.strictEqual((await call.result()).value, 5);
      const written = () =>
        lab
          .events(at.session, "output")
          .map((body) => body.output)
          .join("");
      await until(() => /index is 4/.test(written()), "the console shows the last index", LIMIT);
    });

    it("an attached worker stops at its next breakpoint()", async () => {
      const { call, row } = await lab.pause("p0", "train_twice", 1);
      const at = await lab.attach(row);
      const first = at.top.line;
      await proceed(at);
      const again = await until(
        async () => {
          const now = await lab.waitForStop(row);
          return (await evaluate(now, "step")) === "2" ? now : undefined;
        },
        "it is stopped in the second round",
        LIMIT,
      );
      assert.strictEqual(again.top.line, first);
      await proceed(again);
      assert.strictEqual((await call.result()).value, 3);
    });

    it("post-mortem stops at the failing line", async () => {
      const { call, row } = await lab.pause("p1", "score");
      const at = await lab.attach(row);
      assert.strictEqual(at.top.line, line("fails"));
      assert.strictEqual((await variables(at)).rewards, "[]");
      const attached = await lab.row("p1", "debugging");
      assert.strictEqual(attached.kind, "post-mortem");
      await proceed(at);
      assert.match((await call.result()).error, /ZeroDivisionError/);
    });

    it("a configuration of launch.json attaches by the worker's name", async () => {
      const { row } = await lab.pause("p1", "train", 0);
      const launch = {
        type: "eagleray",
        request: "attach",
        name: "my worker",
        cluster: row.cluster,
        worker: "p1",
      };
      fs.mkdirSync(path.join(test.workspace, ".vscode"), { recursive: true });
      const file = path.join(test.workspace, ".vscode", "launch.json");
      fs.writeFileSync(file, JSON.stringify({ version: "0.2.0", configurations: [launch] }));
      const [folder] = vscode.workspace.workspaceFolders;
      await until(
        () =>
          vscode.workspace.getConfiguration("launch", folder).get("configurations")?.length === 1,
        "the editor has read launch.json",
        LIMIT,
      );
      assert.ok(await vscode.debug.startDebugging(folder, "my worker"));
      assert.strictEqual((await lab.waitForStop(row)).top.line, line("after"));
    });

    it("a configuration without a matching worker is an error and starts nothing", async () => {
      const cluster = test.cluster.address;
      const launch = {
        type: "eagleray",
        request: "attach",
        name: "nobody",
        cluster,
        worker: "nobody",
      };
      assert.strictEqual(await vscode.debug.startDebugging(undefined, launch), false);
      assert.strictEqual(sessions().length, 0);
    });

    it("a socket in a configuration is ignored", async () => {
      const { row } = await lab.pause("p0", "train", 0);
      const launch = {
        type: "eagleray",
        request: "attach",
        name: "x",
        cluster: row.cluster,
        worker: "p0",
      };
      assert.ok(
        await vscode.debug.startDebugging(undefined, { ...launch, socket: "/tmp/elsewhere.sock" }),
      );
      const at = await lab.waitForStop(row);
      assert.notStrictEqual(at.session.configuration.socket, "/tmp/elsewhere.sock");
    });
  });
}

/** Waits until debugpy has confirmed the breakpoint of a line. */
async function verified(lab, at, lineNumber) {
  await until(
    () =>
      lab.messages.some(
        ({ session, message }) =>
          session.id === at.session.id &&
          message.type === "response" &&
          message.command === "setBreakpoints" &&
          message.body?.breakpoints?.some((each) => each.verified && each.line === lineNumber),
      ),
    `the breakpoint of line ${lineNumber} is verified`,
    LIMIT,
  );
}
