/** How a session ends, and what becomes of the worker. */

import * as vscode from "vscode";
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
