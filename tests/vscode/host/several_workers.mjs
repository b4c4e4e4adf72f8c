/** Several workers: a group that continues, and the worker that is attached automatically. */

import * as vscode from "vscode";
import { assert, common, LIMIT, openCommon, sessions, setting, until } from "./lab.mjs";

export function severalWorkers() {
  describe("several workers:", function () {
    const lab = common;
    before(openCommon);
    afterEach(() => lab.clean());

    it("Continue on a group resumes all its workers", async () => {
      const names = ["p0", "p1", "p2"];
      const calls = names.map((name) => lab.call(name, "train", 0));
      for (const name of names) await lab.row(name);
      const [group] = lab.api.paused.value.groups;
      await vscode.commands.executeCommand("eagleray.continueGroup", { row: "group", ...group });
      for (const call of calls) assert.strictEqual((await call.result()).value, 5);
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
