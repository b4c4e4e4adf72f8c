/** The list of workers behind the status bar: those that are paused, and those that run with a session. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { RELEASE } from "../../../extension/debug/attaching/messages";
import { settled } from "../../fakes/app";
import { debug, editor } from "../../fakes/vscode";
import { CLUSTER, Feature, row, worker } from "./feature";

describe("the list of workers behind the status bar", () => {
  const feature = new Feature();

  const opened = async (): Promise<(typeof editor.picks)[number]> => {
    editor.answersLists = false;
    void editor.run("eagleray.showPausedWorkers");
    await settled();
    const pick = editor.picks.at(-1);
    assert.ok(pick);
    return pick;
  };

  it("has the workers that run with a session below the paused ones", async () => {
    for (const id of ["a", "b"]) {
      await editor.run("eagleray.attach", row(worker(id)));
    }
    await feature.show(worker("a", { state: "debugging" }), worker("c"));
    const pick = await opened();
    assert.deepEqual(pick.lines, [
      "— Policy.train",
      "$(debug-alt) p-a",
      "$(debug-pause) p-c",
      "— Running, with a debug session",
      "$(debug-alt) p-b (rank 0)",
      "— ",
      "$(question) Why Is It Stuck?",
    ]);
    assert.equal(pick.items[4]?.description, "running");
    pick.hide();
  });

  it("keeps the active row when the list changes, also for a worker that has gone", async () => {
    await feature.show(worker("b"), worker("c"));
    const pick = await opened();
    pick.activeItems = pick.items.filter(({ label }) => label.endsWith("p-c"));
    await feature.show(worker("a"), worker("b"), worker("c"));
    assert.deepEqual(
      pick.activeItems.map(({ label }) => label),
      ["$(debug-pause) p-c"],
    );
    await feature.show(worker("a"), worker("b"));
    assert.deepEqual(
      pick.activeItems.map(({ description }) => description),
      ["no longer paused"],
    );
    pick.hide();
  });

  it("keeps the place of each row while it is open, since a choice is reported by its index", async () => {
    feature.fakes.sidecar.on(RELEASE, () => ({ done: 1, failures: [], ignored: [] }));
    for (const id of ["a", "b"]) {
      await editor.run("eagleray.attach", row(worker(id)));
    }
    await feature.show(worker("c"));
    const pick = await opened();
    const index = pick.items.findIndex(({ label }) => label.includes("Detach from"));
    await feature.show(worker("d"));
    const described = pick.items.map(({ label, description }) => [label, description].join(": "));
    assert.deepEqual(described[1], "$(debug-pause) p-c: no longer paused");
    assert.ok(described.at(-1)?.startsWith("$(debug-pause) p-d"));
    assert.equal(pick.items[index]?.label, "$(debug-disconnect) Detach from 2 Running Workers");
    await feature.show(worker("c"), worker("d"));
    assert.ok(!pick.items[1]?.description?.includes("no longer"));
    await feature.show();
    pick.choose("$(debug-pause) p-c");
    await settled();
    assert.deepEqual(feature.fakes.sidecar.sentTo(RELEASE), []);
  });

  it("detaches from the worker of a button, and from all by an entry", async () => {
    feature.fakes.sidecar.on(RELEASE, () => ({ done: 1, failures: [], ignored: [] }));
    for (const id of ["a", "b"]) {
      await editor.run("eagleray.attach", row(worker(id)));
    }
    await feature.show();
    (await opened()).press("$(debug-alt) p-b (rank 0)", "Detach");
    await settled();
    (await opened()).choose("$(debug-disconnect) Detach from 2 Running Workers");
    await settled();
    assert.deepEqual(feature.fakes.sidecar.sentTo(RELEASE), [
      { cluster: CLUSTER, worker_ids: ["b"] },
      { cluster: CLUSTER, worker_ids: ["a", "b"] },
    ]);
  });

  it("asks why the program is stuck", async () => {
    await feature.show(worker("a"));
    editor.executed.length = 0;
    (await opened()).choose("$(question) Why Is It Stuck?");
    await settled();
    assert.deepEqual(
      editor.executed.map(({ command }) => command),
      ["eagleray.whyStuck"],
    );
  });

  it("brings the session of a running worker to the front", async () => {
    await editor.run("eagleray.attach", row(worker("a")));
    const [session] = debug.sessions;
    assert.ok(session);
    debug.lookAt(session, true);
    editor.executed.length = 0;
    (await opened()).choose("$(debug-alt) p-a (rank 0)");
    await settled();
    assert.ok(editor.executed.some((one) => one.command === "workbench.action.debug.callStackTop"));
  });
});
