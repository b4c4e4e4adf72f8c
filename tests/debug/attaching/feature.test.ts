/** The debugging feature with a fake editor and a fake sidecar: what is asked for, started and said. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, mock } from "node:test";

import { EaglerayError } from "../../../extension/common/errors";
import { ID_OF } from "../../../extension/clusters/messages";
import {
  ATTACH,
  CONTINUE,
  CONTINUE_OTHERS,
  IGNORE,
} from "../../../extension/debug/attaching/messages";
import { CHANGED as RUNS_CHANGED } from "../../../extension/runs/messages";
import { CHANGED, REFRESH } from "../../../extension/debug/workers/messages";
import { settled } from "../../fakes/app";
import {
  debug,
  DebugAdapterInlineImplementation,
  editor,
  type FakeSession,
} from "../../fakes/vscode";
import { aRun, runWorker } from "../../runs/samples";
import { attached, CLUSTER, Feature, row, worker } from "./feature";

describe("the debugging feature", () => {
  const feature = new Feature();

  it("attaches before the session begins, and connects only to the socket of the answer", async () => {
    assert.equal(await editor.run("eagleray.attach", row(worker("a"))), true);
    const [session] = debug.sessions;
    assert.equal(session?.configuration["socket"], "/s/a");
    assert.equal(session.name, "p-a (rank 0)");
    const other = { ...session, configuration: { ...session.configuration, socket: "/s/other" } };
    await assert.rejects(async () => {
      await debug.factory?.createDebugAdapterDescriptor(other);
    }, EaglerayError);
  });

  it("ends the session of a worker that has gone before it began, and says so", async () => {
    await editor.run("eagleray.attach", row(worker("a")));
    const [session] = debug.sessions;
    assert.ok(session);
    const given = await debug.factory?.createDebugAdapterDescriptor(session);
    assert.ok(given instanceof DebugAdapterInlineImplementation);
    const told: Record<string, unknown>[] = [];
    given.implementation.onDidSendMessage((message) => told.push({ ...message }));
    for (const [seq, command] of ["initialize", "attach", "disconnect"].entries()) {
      given.implementation.handleMessage({ seq, type: "request", command });
    }
    assert.deepEqual(
      told.map(({ event, command }) => event ?? command),
      ["initialize", "attach", "terminated", "disconnect"],
    );
    assert.match(editor.asked[0]?.text ?? "", /^p-a \(rank 0\) exited .*Attach again/);
  });

  it("ends the session of a worker that goes while the debug view opens", async () => {
    const folder = mkdtempSync(join(tmpdir(), "er-"));
    const socket = join(folder, "worker.sock");
    writeFileSync(socket, "");
    feature.fakes.sidecar.on(ATTACH, (asked) => ({ ...attached(asked.worker), socket }));
    await editor.run("eagleray.attach", row(worker("c")));
    const session = debug.sessions.at(-1);
    assert.ok(session);
    editor.builtin.set("workbench.view.debug", () => {
      rmSync(folder, { recursive: true });
    });
    const given = await debug.factory?.createDebugAdapterDescriptor(session);
    assert.ok(given instanceof DebugAdapterInlineImplementation);
  });

  it("shows the debug view before the session stops, unless the person wants it never", async () => {
    await editor.run("eagleray.attach", row(worker("a")));
    const [session] = debug.sessions;
    assert.ok(session);
    const isAlive = { configuration: { ...session.configuration, socket: "/dev/null" } };
    feature.fakes.sidecar.on(ATTACH, (asked) => ({
      ...attached(asked.worker),
      socket: "/dev/null",
    }));
    await editor.run("eagleray.attach", row(worker("b")));
    const shown = async (): Promise<boolean> => {
      editor.executed = [];
      await debug.factory?.createDebugAdapterDescriptor({ ...session, ...isAlive });
      return editor.executed.some(({ command }) => command === "workbench.view.debug");
    };
    assert.equal(await shown(), true);
    editor.change("debug.openDebug", "neverOpen");
    assert.equal(await shown(), false);
  });

  it("keeps the Debug Console behind the output of a run, unless the user says when it opens", async () => {
    const workers = [runWorker({ worker_id: "a" }), runWorker({ worker_id: "b" })];
    feature.fakes.sidecar.notify(RUNS_CHANGED, { runs: [aRun({ workers })] });
    await settled();
    const config = { type: "eagleray", request: "attach", name: "x", cluster: CLUSTER };
    const opened = async (more: object): Promise<unknown> => {
      await debug.startDebugging(undefined, { ...config, ...more });
      return debug.sessions.at(-1)?.configuration["internalConsoleOptions"];
    };
    assert.equal(await opened({ worker: "a" }), "neverOpen");
    assert.equal(await opened({ worker: "of no run" }), undefined);
    const asked = { worker: "a", internalConsoleOptions: "openOnSessionStart" };
    assert.equal(await opened(asked), "openOnSessionStart");
    editor.change("debug.internalConsoleOptions", "openOnSessionStart");
    assert.equal(await opened({ worker: "b" }), undefined);
  });

  it("walks to a session only where the editor shows the stop of another", async () => {
    const began = (id: string): FakeSession => {
      const configuration = { cluster: CLUSTER, worker: id };
      const session = { id, type: "eagleray", name: id, configuration };
      debug.started.fire(session);
      return session;
    };
    const walks = (): number =>
      editor.executed.filter(({ command }) => command.endsWith("prevConsole")).length;
    const first = began("a");
    debug.lookAt(first, false);
    began("b");
    await settled();
    assert.equal(walks(), 0);
    debug.lookAt(first, true);
    began("c");
    await settled();
    assert.ok(walks() > 0);
  });

  it("does not take a socket from a configuration", async () => {
    const config = { type: "eagleray", request: "attach", name: "x", cluster: CLUSTER };
    await debug.startDebugging(undefined, { ...config, worker: "a", socket: "/evil" });
    assert.equal(debug.sessions[0]?.configuration["socket"], "/s/a");
  });

  it("starts nothing when attaching fails, and says why with a way to the log", async () => {
    feature.fakes.sidecar.on(ATTACH, () => {
      throw new EaglerayError(
        "worker-gone",
        "p-a has ended.",
        "Its log may say why.",
        "",
        "",
        "cluster",
      );
    });
    assert.equal(await editor.run("eagleray.attach", row(worker("a"))), false);
    assert.equal(debug.sessions.length, 0);
    assert.equal(editor.asked[0]?.text, "p-a has ended. Its log may say why.");
    assert.deepEqual(editor.asked[0].buttons, ["Diagnose", "Show Log"]);
  });

  it("shows the stopped line of a worker that this window debugs, and attaches no second time", async () => {
    const [first, second] = [row(worker("a")), row(worker("b"))];
    await editor.run("eagleray.attach", first);
    await editor.run("eagleray.attach", second);
    const [ofFirst] = debug.sessions;
    const requests = feature.fakes.sidecar.sentTo(ATTACH).length;
    editor.builtin.set("workbench.action.debug.prevConsole", () => {
      debug.lookAt(ofFirst as FakeSession, true);
    });
    editor.executed.length = 0;
    assert.equal(await editor.run("eagleray.attach", first), true);
    assert.equal(debug.activeDebugSession, ofFirst);
    assert.equal(feature.fakes.sidecar.sentTo(ATTACH).length, requests);
    assert.equal(debug.sessions.length, 2);
    assert.ok(editor.executed.some((one) => one.command === "workbench.action.debug.callStackTop"));
  });

  it("attaches once for a double click", async () => {
    const one = row(worker("a"));
    await Promise.all([editor.run("eagleray.attach", one), editor.run("eagleray.attach", one)]);
    assert.equal(feature.fakes.sidecar.sentTo(ATTACH).length, 1);
  });

  it("finds the cluster of a configuration that names only the worker", async () => {
    await feature.show(worker("abc"));
    const config = { type: "eagleray", request: "attach", name: "x", worker: "ab" };
    await debug.startDebugging(undefined, config);
    const [asked] = feature.fakes.sidecar.sentTo(ATTACH);
    const rest = { workspace_folders: [], unless_taken: false };
    assert.deepEqual(asked, { cluster: CLUSTER, worker: "ab", ...rest });
  });

  it("takes the cluster of a configuration that names no worker as people write it", async () => {
    await feature.show(worker("a"), worker("b"));
    feature.fakes.sidecar.on(ID_OF, () => ({ cluster: CLUSTER }));
    editor.answer = (asked) => (asked.options["items"] as object[])[1];
    const config = { type: "eagleray", request: "attach", name: "x", cluster: "HTTP://C:1/" };
    await debug.startDebugging(undefined, config);
    assert.deepEqual(feature.fakes.sidecar.sentTo(ID_OF), [{ cluster: "HTTP://C:1/" }]);
    assert.equal(debug.sessions[0]?.configuration["worker"], "b");
  });

  it("asks which worker when a configuration names none and several wait", async () => {
    await feature.show(worker("a"), worker("b", { rank: 3 }));
    editor.answer = (asked) => (asked.options["items"] as { label: string }[])[1];
    await debug.startDebugging(undefined, { type: "eagleray", request: "attach", name: "x" });
    assert.equal(debug.sessions[0]?.configuration["worker"], "b");
  });

  it("is offered by the editor once, by name for the only one that waits", async () => {
    assert.deepEqual(await debug.offered(), []);
    await feature.show(worker("a"));
    assert.deepEqual(await debug.offered(), ["Attach to p-a"]);
    await feature.show(worker("a"), worker("b", { rank: 3 }));
    assert.deepEqual(await debug.offered(), ["Attach to paused worker…"]);
  });

  it("attaches for F5 without a launch.json, and says what starts a program when none waits", async () => {
    editor.answer = () => "Debug on Ray";
    assert.equal(await debug.startDebugging(undefined, {}), false);
    await settled();
    assert.match(editor.asked[0]?.text ?? "", /No worker is paused\. .*select Debug on Ray/);
    assert.equal(editor.executed.at(-1)?.command, "eagleray.debug");
    await feature.show(worker("a"));
    assert.equal(await debug.startDebugging(undefined, {}), true);
    assert.equal(debug.sessions[0]?.configuration["worker"], "a");
  });

  it("asks the clusters before it says that no worker is paused", async () => {
    const listed = [
      {
        cluster: CLUSTER,
        title: "T",
        workers: [worker("a")],
        post_mortem: false,
        waiting: "",
        sentence: "",
      },
    ];
    feature.fakes.sidecar.on(REFRESH, () => ({
      groups: listed,
      stops: { paused: 1, held: 0, debugging: 0 },
    }));
    feature.fakes.sidecar.on(ID_OF, () => ({ cluster: CLUSTER }));
    const config = { type: "eagleray", request: "attach", name: "x", cluster: CLUSTER };
    assert.equal(await debug.startDebugging(undefined, config), true);
    assert.equal(debug.sessions[0]?.configuration["worker"], "a");
    feature.fakes.sidecar.notify(CHANGED, {
      groups: [],
      stops: { paused: 0, held: 0, debugging: 0 },
    });
    await debug.startDebugging(undefined, { ...config, cluster: undefined, worker: "p-a" });
    assert.equal(debug.sessions[1]?.configuration["cluster"], CLUSTER);
    assert.deepEqual(editor.asked, []);
    feature.fakes.sidecar.on(REFRESH, () => {
      throw new EaglerayError("sidecar-not-started", "It did not start.");
    });
    feature.fakes.sidecar.notify(CHANGED, {
      groups: [],
      stops: { paused: 0, held: 0, debugging: 0 },
    });
    assert.equal(await editor.run("eagleray.attach"), false);
    assert.deepEqual(
      editor.asked.map(({ text }) => text),
      ["It did not start."],
    );
  });

  it("says so when the next one is asked for and none waits", async () => {
    await editor.run("eagleray.attachNext");
    assert.equal(editor.asked[0]?.text, "No worker is paused.");
  });

  it("sends actions for the workers of the row, and one sentence for what failed", async () => {
    const failure = { worker_id: "b", name: "p-b", code: "worker-gone" };
    const sentence = { message: "p-b has ended.", next_step: "Look." };
    feature.fakes.sidecar.on(CONTINUE, () => ({
      done: 1,
      failures: [{ ...failure, ...sentence }],
      ignored: [],
    }));
    const workers = [worker("a"), worker("b")];
    const group = { row: "group", cluster: CLUSTER, title: "T", workers };
    await editor.run("eagleray.continueGroup", group);
    assert.deepEqual(feature.fakes.sidecar.sentTo(CONTINUE), [
      { cluster: CLUSTER, worker_ids: ["a", "b"] },
    ]);
    assert.equal(editor.asked[0]?.text, "p-b has ended. Look.");
    assert.match(feature.fakes.log.text, /worker-gone/);
  });

  it("does nothing to a group without waiting workers here, nor to a worker of another one", async () => {
    await feature.show(worker("z"));
    const workers = [worker("a", { state: "gone" }), worker("b", { state: "running" })];
    const group = { row: "group", cluster: CLUSTER, title: "T", workers };
    await editor.run("eagleray.continueGroup", group);
    await editor.run("eagleray.attach", group);
    assert.deepEqual(
      [feature.fakes.sidecar.sentTo(CONTINUE), feature.fakes.sidecar.sentTo(ATTACH)],
      [[], []],
    );
    assert.match(editor.asked[0]?.text ?? "", /No worker of this group is paused/);
  });

  it("continues all workers that are stopped here with one request per cluster", async () => {
    feature.fakes.sidecar.on(CONTINUE, () => ({ done: 2, failures: [], ignored: [] }));
    await feature.show(
      worker("a"),
      worker("b", { state: "debugging" }),
      worker("c", { state: "running" }),
      worker("d", { state: "held", held_on: "login2" }),
    );
    await editor.run("eagleray.continueAll");
    assert.deepEqual(feature.fakes.sidecar.sentTo(CONTINUE), [
      { cluster: CLUSTER, worker_ids: ["a", "b"] },
    ]);
  });

  it("reports workers that pause again right after Continue All, and offers to skip", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      const failure = { worker_id: "b", name: "b", code: "x", message: "Bad.", next_step: "" };
      feature.fakes.sidecar.on(CONTINUE, () => ({ done: 2, failures: [failure], ignored: [] }));
      feature.fakes.sidecar.on(IGNORE, () => ({ done: 2, failures: [], ignored: [] }));
      const location = { path: "/r/x.py", line: 23, function: "f", local: "" };
      const all = ["a", "b", "c"].map((id) => worker(id, { location, kind: "breakpoint" }));
      await feature.show(...all);
      await editor.run("eagleray.continueAll");
      await feature.show(...all, worker("new"));
      editor.asked.length = 0;
      editor.answer = () => "Skip This breakpoint()";
      mock.timers.tick(2_000);
      await settled();
      // In a loop, the next round is the same line: the offer is made once.
      await feature.show(...all);
      await editor.run("eagleray.continueAll");
      mock.timers.tick(2_000);
    } finally {
      mock.timers.reset();
    }
    await settled();
    assert.equal(editor.asked[0]?.text, "Paused again: 2 workers at x.py:23.");
    const offers = editor.asked.filter(({ text }) => text.startsWith("Paused again"));
    assert.equal(offers.length, 1);
    assert.deepEqual(feature.fakes.sidecar.sentTo(IGNORE), [
      { cluster: CLUSTER, worker_ids: ["a", "c"] },
    ]);
  });

  it("shows a message when Continue All finds no paused worker", async () => {
    await editor.run("eagleray.continueAll");
    assert.deepEqual(feature.fakes.sidecar.sentTo(CONTINUE), []);
    assert.equal(editor.asked[0]?.text, "No worker is paused.");
  });

  it("names to Continue All Others the one that stays", async () => {
    feature.fakes.sidecar.on(CONTINUE_OTHERS, () => ({ done: 1, failures: [], ignored: [] }));
    await editor.run("eagleray.continueOthers", row(worker("a")));
    assert.deepEqual(feature.fakes.sidecar.sentTo(CONTINUE_OTHERS), [
      { cluster: CLUSTER, worker_ids: ["a"] },
    ]);
  });
});
