/** How a session ends, and what becomes of the worker. */

import * as fs from "node:fs";
import * as vscode from "vscode";
import { processes } from "../harness/processes.mjs";
import {
  assert,
  breakpoint,
  evaluate,
  common,
  debugCommand,
  LIMIT,
  openCommon,
  line,
  proceed,
  sessions,
  waitForStopAt,
  stepBelow,
  until,
} from "./lab.mjs";

export function disconnecting() {
  describe("disconnecting:", function () {
    const lab = common;
    before(openCommon);
    afterEach(() => lab.clean());

    const noSessions = () => until(() => sessions().length === 0, "the session has ended", LIMIT);

    it("Disconnect resumes the worker", async () => {
      const { call, row } = await lab.pause("p0", "train", 0);
      const at = await lab.attach(row);
      await debugCommand(at, "disconnect");
      await noSessions();
      assert.strictEqual((await call.result()).value, 5);
    });

    it("Stop keeps the worker held and asks; the answer resumes it", async () => {
      const { call, row } = await lab.pause("p0", "train", 0);
      const at = await lab.attach(row);
      await vscode.commands.executeCommand("notifications.clearAll");
      await debugCommand(at, "stop");
      await noSessions();
      await lab.row("p0", "held");
      assert.strictEqual(call.returned(), undefined);
      // An extension can't see when the message is shown; until then the command does nothing.
      await until(
        async () => {
          await vscode.commands.executeCommand("notification.acceptPrimaryAction");
          return call.returned();
        },
        "“Resume” let it run on",
        LIMIT,
        500,
      );
      assert.strictEqual(call.returned().value, 5);
    });

    it("Disconnect and Suspend keeps it held; a click returns to the same line and breakpoints", async () => {
      const { call, row } = await lab.pause("p0", "train", 0);
      const at = await lab.attach(row);
      breakpoint(line("loop"), { condition: "index == 2" });
      const before = await stepBelow(at.session, line("after"));
      await debugCommand(at, "disconnectAndSuspend");
      await noSessions();
      const held = await lab.row("p0", "held");
      const back = await lab.attach(held);
      assert.strictEqual(back.top.line, before);
      await proceed(back);
      const next = await waitForStopAt(back.session, line("loop"));
      assert.strictEqual(await evaluate(next, "index"), "2");
      await proceed(next);
      assert.strictEqual((await call.result()).value, 5);
    });

    it("Detach and Resume resumes a held worker", async () => {
      const { call, row } = await lab.pause("p0", "train", 0);
      const at = await lab.attach(row);
      await debugCommand(at, "disconnectAndSuspend");
      await noSessions();
      await lab.command("detach", await lab.row("p0", "held"));
      assert.strictEqual((await call.result()).value, 5);
    });

    it("Restart returns to the same line", async () => {
      const { row } = await lab.pause("p0", "train", 0);
      const at = await lab.attach(row);
      const started = new Promise((resolve) => {
        const listener = vscode.debug.onDidStartDebugSession((session) => {
          listener.dispose();
          resolve(session);
        });
      });
      await debugCommand(at, "restart");
      await started;
      assert.strictEqual((await lab.waitForStop(row)).top.line, at.top.line);
    });

    it("a click on a worker that is being debugged shows its session again", async () => {
      const { row } = await lab.pause("p0", "train", 0);
      const first = await lab.attach(row);
      await vscode.commands.executeCommand("workbench.action.closeAllEditors");
      await lab.command("attach", await lab.row("p0", "debugging"));
      await until(
        () => vscode.window.activeTextEditor?.selection.active.line === line("after") - 1,
        "the stopped line is shown",
        LIMIT,
      );
      assert.deepStrictEqual(
        sessions().map(({ id }) => id),
        [first.session.id],
      );
    });

    it("a killed sidecar keeps every stop", async () => {
      const { call, row } = await lab.pause("p0", "train", 0);
      const at = await lab.attach(row);
      const before = sidecars();
      assert.ok(before.length > 0);
      for (const pid of before) process.kill(pid, "SIGKILL");
      assert.strictEqual(await evaluate(at, "state['step']"), "0");
      await until(
        () => sidecars().some((pid) => !before.includes(pid)),
        "another sidecar has started",
        LIMIT,
      );
      await lab.row("p0", "debugging");
      await proceed(at);
      assert.strictEqual((await call.result()).value, 5);
      const next = await lab.pause("p1", "train", 0);
      await lab.attach(next.row);
    });

    it("the death of an attached worker ends its session", async () => {
      await lab.driver.actors({ mortal: null });
      const { row } = await lab.pause("mortal", "train", 0);
      await lab.attach(row);
      process.kill(row.pid, "SIGKILL");
      await noSessions();
      await until(
        () => !lab.rows().some((each) => each.name === "mortal"),
        "its row is gone",
        LIMIT,
      );
    });

    it("a worker that resumed before the click is reported and starts no session", async () => {
      const { call, row } = await lab.pause("p0", "train", 0);
      await lab.command("continue", row);
      await call.result();
      assert.ok(!(await lab.command("attach", row)));
      assert.strictEqual(sessions().length, 0);
    });
  });
}

/** The sidecars that this extension host has started. */
function sidecars() {
  return processes().filter((pid) => {
    try {
      const args = fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      const parent = Number(/PPid:\t(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))[1]);
      return (
        parent === process.pid && args.some((argument) => argument.endsWith("eagleray_start.py"))
      );
    } catch {
      return false;
    }
  });
}
