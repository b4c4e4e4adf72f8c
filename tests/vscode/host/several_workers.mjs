/** Several workers: sessions side by side, the key for the next one, and actions without attaching. */

import * as vscode from "vscode";
import {
  assert,
  common,
  LIMIT,
  line,
  openCommon,
  proceed,
  sessions,
  setting,
  stopLocation,
  stepBelow,
  until,
} from "./lab.mjs";

export function severalWorkers() {
  describe("several workers:", function () {
    const lab = common;
    before(openCommon);
    afterEach(() => lab.clean());

    const pauseAll = async (method = "train", ...args) => {
      const calls = ["p0", "p1", "p2"].map((name) =>
        lab.call(name, method, ...(args.length ? args : [0])),
      );
      const rows = [];
      for (const name of ["p0", "p1", "p2"]) rows.push(await lab.row(name));
      return { calls, rows };
    };

    it("have sessions side by side, each at its own line", async () => {
      const { calls, rows } = await pauseAll();
      const first = await lab.attach(rows[0]);
      const second = await lab.attach(rows[1]);
      assert.notStrictEqual(first.session.id, second.session.id);
      const inFront = () => vscode.debug.activeDebugSession?.id === second.session.id;
      await until(inFront, "the second session is active", LIMIT);
      await stepBelow(second.session, line("after"));
      assert.strictEqual((await stopLocation(first.session)).top.line, line("after"));
      await proceed(first);
      assert.strictEqual((await calls[0].result()).value, 5);
      assert.ok(await stopLocation(second.session));
      assert.strictEqual(calls[2].returned(), undefined);
    });

    it("Attach to Next Paused Worker goes down the list", async () => {
      await pauseAll();
      const workers = new Set();
      for (let round = 1; round <= 3; round += 1) {
        assert.ok(await vscode.commands.executeCommand("eagleray.attachNext"));
        await until(() => sessions().length === round, `${round} sessions are open`, LIMIT);
        for (const session of sessions()) workers.add(session.configuration.worker);
        await until(
          () => lab.rows().filter((row) => row.state === "debugging").length === round,
          `${round} rows are attached`,
          LIMIT,
          openCommon,
        );
      }
      assert.strictEqual(workers.size, 3);
    });

    it("have distinct names in the Call Stack", async () => {
      const { rows } = await pauseAll();
      const at = await lab.attach(rows[1]);
      assert.match(at.session.name, / \(rank 1\)$/);
    });

    it("Continue resumes one worker without attaching", async () => {
      const { calls, rows } = await pauseAll();
      await lab.command("continue", rows[1]);
      assert.strictEqual((await calls[1].result()).value, 5);
      assert.strictEqual(calls[0].returned(), undefined);
      assert.strictEqual(sessions().length, 0);
    });

    it("Continue All Others resumes all but one", async () => {
      const { calls, rows } = await pauseAll();
      await lab.command("continueOthers", rows[0]);
      assert.strictEqual((await calls[1].result()).value, 5);
      assert.strictEqual((await calls[2].result()).value, 5);
      assert.strictEqual(calls[0].returned(), undefined);
      await lab.row("p0");
    });

    it("Continue on a group resumes all its workers", async () => {
      const { calls } = await pauseAll();
      const [group] = lab.api.paused.value.groups;
      await vscode.commands.executeCommand("eagleray.continueGroup", { row: "group", ...group });
      for (const call of calls) assert.strictEqual((await call.result()).value, 5);
    });

    it("Ignore makes workers pass a breakpoint() until it is undone", async () => {
      const { calls, rows } = await pauseAll("train_twice", 0);
      await lab.command("skipBreakpoint", rows[0]);
      for (const call of calls) assert.strictEqual((await call.result()).value, 2);
      const later = lab.call("p0", "train_twice", 5);
      assert.strictEqual((await later.result()).value, 7);
      const listed = { method: "eagleray/debugging/ignored" };
      const { ignored } = await lab.api.sidecar.request(listed, {});
      assert.strictEqual(ignored.length, 1);
      await lab.api.sidecar.request({ method: "eagleray/debugging/forgetIgnored" }, ignored[0]);
      await lab.pause("p0", "train_twice", 0);
    });

    it("autoAttach attaches to rank 0 and to no other", async () => {
      await setting("autoAttach", "rank0");
      lab.call("p1", "train", 0);
      await lab.row("p1");
      assert.strictEqual(sessions().length, 0);
      await lab.driver.actors({ fresh: 0 });
      lab.call("fresh", "train", 0);
      await until(() => sessions().length === 1, "a session started automatically", LIMIT);
      assert.match(sessions()[0].name, / \(rank 0\)$/);
      await lab.row("fresh", "debugging");
      await lab.row("p1");
    });
  });
}
