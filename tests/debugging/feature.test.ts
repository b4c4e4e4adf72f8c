/** The debugging feature with a fake editor and a fake sidecar: what is asked for, started and said. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";

import type { Disposable } from "../../extension/common/disposables";
import { EaglerayError } from "../../extension/common/errors";
import { register } from "../../extension/features/debugging";
import {
  ATTACH,
  CONTINUE,
  CONTINUE_OTHERS,
  FORGET_IGNORED,
  HELD_LONG,
  IGNORED,
  RELEASE,
  type Attached,
} from "../../extension/features/debugging/messages";
import { ID_OF, REFRESH as REFRESH_CLUSTERS } from "../../extension/features/clusters/messages";
import { CHANGED, REFRESH, type PausedWorker } from "../../extension/features/workers/messages";
import { fakeParts, settled, type FakeParts } from "../fakes/parts";
import { debug, editor, type FakeSession } from "../fakes/vscode";

const CLUSTER = "http://c:1";

function worker(id: string, more: Partial<PausedWorker> = {}): PausedWorker {
  const own = {
    cluster: CLUSTER,
    worker_id: id,
    name: `p-${id}`,
    node_id: "n",
    node_ip: "10.0.0.1",
  };
  const rest = {
    pid: 1,
    kind: "breakpoint",
    state: "paused",
    waiting_s: 0,
    exception: "",
  } as const;
  return {
    ...own,
    ...rest,
    rank: null,
    location: null,
    threads: 1,
    attempt: 0,
    children: [],
    held_on: "",
    ...more,
  };
}

function attached(id: string): Attached {
  const place = { path: "/r/x.py", line: 3, local: "/l/x.py" };
  return {
    socket: `/s/${id}`,
    cluster: CLUSTER,
    worker_id: id,
    name: `p-${id}`,
    rank: 0,
    ...place,
  };
}

describe("the debugging feature", () => {
  let fakes: FakeParts;
  let registered: readonly Disposable[];

  beforeEach(() => {
    editor.reset();
    debug.reset();
    fakes = fakeParts();
    fakes.sidecar.on(ATTACH, (asked) => attached(asked.worker));
    fakes.sidecar.on(REFRESH_CLUSTERS, () => ({ clusters: [], hints: [], jobs: [], hosts: [] }));
    fakes.sidecar.on(REFRESH, () => ({ groups: [], paused: 0, held: 0 }));
    registered = register(fakes.parts);
  });

  afterEach(() => {
    for (const one of registered) {
      one.dispose();
    }
  });

  const show = async (...workers: PausedWorker[]): Promise<void> => {
    const held = workers.filter((one) => one.state === "held").length;
    const groups = [{ cluster: CLUSTER, title: "Policy.train", workers }];
    fakes.sidecar.notify(CHANGED, { groups, paused: workers.length - held, held });
    await settled();
  };
  const row = (one: PausedWorker): object => ({
    row: "worker",
    worker: one,
    group: { row: "group", cluster: CLUSTER, title: "", workers: [one] },
  });
  const tracker = (session: FakeSession): { say(message: object): void; end(): void } => {
    const own = debug.trackers[0]?.createDebugAdapterTracker(session) as {
      onWillReceiveMessage(message: object): void;
      onWillStopSession(): void;
    };
    return {
      say: (message) => {
        own.onWillReceiveMessage(message);
      },
      end: () => {
        own.onWillStopSession();
      },
    };
  };

  it("attaches before the session begins, and connects only to the socket of the answer", async () => {
    assert.equal(await editor.run("eagleray.attach", row(worker("a"))), true);
    const [session] = debug.sessions;
    assert.equal(session?.configuration["socket"], "/s/a");
    assert.equal(session.name, "r0 p-a");
    const other = { ...session, configuration: { ...session.configuration, socket: "/s/other" } };
    await assert.rejects(async () => {
      await debug.factory?.createDebugAdapterDescriptor(other);
    }, EaglerayError);
  });

  it("shows the debug view before the session stops, unless the person wants it never", async () => {
    await editor.run("eagleray.attach", row(worker("a")));
    const [session] = debug.sessions;
    assert.ok(session);
    const isAlive = { configuration: { ...session.configuration, socket: "/dev/null" } };
    fakes.sidecar.on(ATTACH, (asked) => ({ ...attached(asked.worker), socket: "/dev/null" }));
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

  it("does not take a socket from a configuration", async () => {
    const config = { type: "eagleray", request: "attach", name: "x", cluster: CLUSTER };
    await debug.startDebugging(undefined, { ...config, worker: "a", socket: "/evil" });
    assert.equal(debug.sessions[0]?.configuration["socket"], "/s/a");
  });

  it("starts nothing when attaching fails, and says why with a way to the log", async () => {
    fakes.sidecar.on(ATTACH, () => {
      throw new EaglerayError("worker-gone", "p-a has ended.", "Its log may say why.");
    });
    assert.equal(await editor.run("eagleray.attach", row(worker("a"))), false);
    assert.equal(debug.sessions.length, 0);
    assert.equal(editor.asked[0]?.text, "p-a has ended. Its log may say why.");
    assert.deepEqual(editor.asked[0].buttons, ["Show Logs"]);
  });

  it("attaches once for a double click", async () => {
    const one = row(worker("a"));
    await Promise.all([editor.run("eagleray.attach", one), editor.run("eagleray.attach", one)]);
    assert.equal(fakes.sidecar.sentTo(ATTACH).length, 1);
  });

  it("finds the cluster of a configuration that names only the worker", async () => {
    await show(worker("abc"));
    const config = { type: "eagleray", request: "attach", name: "x", worker: "ab" };
    await debug.startDebugging(undefined, config);
    const [asked] = fakes.sidecar.sentTo(ATTACH);
    const rest = { workspace_folders: [], unless_taken: false };
    assert.deepEqual(asked, { cluster: CLUSTER, worker: "ab", ...rest });
  });

  it("takes the cluster of a configuration that names no worker as people write it", async () => {
    await show(worker("a"), worker("b"));
    fakes.sidecar.on(ID_OF, () => ({ cluster: CLUSTER }));
    editor.answer = (asked) => (asked.options["items"] as object[])[1];
    const config = { type: "eagleray", request: "attach", name: "x", cluster: "HTTP://C:1/" };
    await debug.startDebugging(undefined, config);
    assert.deepEqual(fakes.sidecar.sentTo(ID_OF), [{ cluster: "HTTP://C:1/" }]);
    assert.equal(debug.sessions[0]?.configuration["worker"], "b");
  });

  it("asks which worker when a configuration names none and several wait", async () => {
    await show(worker("a"), worker("b", { rank: 3 }));
    editor.answer = (asked) => (asked.options["items"] as { label: string }[])[1];
    await debug.startDebugging(undefined, { type: "eagleray", request: "attach", name: "x" });
    assert.equal(debug.sessions[0]?.configuration["worker"], "b");
  });

  it("attaches for F5 without a launch.json, and says what starts a program when none waits", async () => {
    editor.answer = () => "Run on Ray";
    assert.equal(await debug.startDebugging(undefined, {}), false);
    await settled();
    assert.match(editor.asked[0]?.text ?? "", /No worker is paused\. “Run on Ray” starts/);
    assert.equal(editor.executed.at(-1)?.command, "eagleray.run");
    await show(worker("a"));
    assert.equal(await debug.startDebugging(undefined, {}), true);
    assert.equal(debug.sessions[0]?.configuration["worker"], "a");
  });

  it("asks the clusters before it says that no worker is paused", async () => {
    const listed = [{ cluster: CLUSTER, title: "T", workers: [worker("a")] }];
    fakes.sidecar.on(REFRESH, () => ({ groups: listed, paused: 1, held: 0 }));
    fakes.sidecar.on(ID_OF, () => ({ cluster: CLUSTER }));
    const config = { type: "eagleray", request: "attach", name: "x", cluster: CLUSTER };
    assert.equal(await debug.startDebugging(undefined, config), true);
    assert.equal(debug.sessions[0]?.configuration["worker"], "a");
    fakes.sidecar.notify(CHANGED, { groups: [], paused: 0, held: 0 });
    await debug.startDebugging(undefined, { ...config, cluster: undefined, worker: "p-a" });
    assert.equal(debug.sessions[1]?.configuration["cluster"], CLUSTER);
    assert.deepEqual(editor.asked, []);
    fakes.sidecar.on(REFRESH, () => {
      throw new EaglerayError("sidecar-not-started", "It did not start.");
    });
    fakes.sidecar.notify(CHANGED, { groups: [], paused: 0, held: 0 });
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
    fakes.sidecar.on(CONTINUE, () => ({ done: 1, failures: [{ ...failure, ...sentence }] }));
    const workers = [worker("a"), worker("b")];
    const group = { row: "group", cluster: CLUSTER, title: "T", workers };
    await editor.run("eagleray.continueGroup", group);
    assert.deepEqual(fakes.sidecar.sentTo(CONTINUE), [
      { cluster: CLUSTER, worker_ids: ["a", "b"] },
    ]);
    assert.equal(editor.asked[0]?.text, "p-b has ended. Look.");
    assert.match(fakes.log.text, /worker-gone/);
  });

  it("does nothing to a group of which nobody waits here, nor to a worker of another one", async () => {
    await show(worker("z"));
    const workers = [worker("a", { state: "gone" }), worker("b", { state: "running" })];
    const group = { row: "group", cluster: CLUSTER, title: "T", workers };
    await editor.run("eagleray.continueGroup", group);
    await editor.run("eagleray.attach", group);
    assert.deepEqual([fakes.sidecar.sentTo(CONTINUE), fakes.sidecar.sentTo(ATTACH)], [[], []]);
    assert.match(editor.asked[0]?.text ?? "", /No worker of this group waits/);
  });

  it("names to Continue All Others the one that stays", async () => {
    fakes.sidecar.on(CONTINUE_OTHERS, () => ({ done: 1, failures: [] }));
    await editor.run("eagleray.continueOthers", row(worker("a")));
    assert.deepEqual(fakes.sidecar.sentTo(CONTINUE_OTHERS), [
      { cluster: CLUSTER, worker_ids: ["a"] },
    ]);
  });

  describe("after the session has ended", () => {
    const disconnect = (args: object): object => ({
      type: "request",
      command: "disconnect",
      arguments: args,
    });
    const leave = async (args: object): Promise<void> => {
      fakes.sidecar.on(RELEASE, () => ({ done: 1, failures: [] }));
      await editor.run("eagleray.attach", row(worker("a")));
      const [session] = debug.sessions;
      assert.ok(session);
      const watching = tracker(session);
      watching.say(disconnect(args));
      watching.end();
      await settled();
    };

    it("by Stop, it asks, and lets the worker run on only if told to", async () => {
      await leave({ restart: false, terminateDebuggee: true });
      assert.match(editor.asked[0]?.text ?? "", /stays stopped/);
      assert.equal(fakes.sidecar.sentTo(RELEASE).length, 0);
      editor.answer = () => "Let It Run On";
      await leave({ restart: false, terminateDebuggee: true });
      assert.deepEqual(fakes.sidecar.sentTo(RELEASE), [{ cluster: CLUSTER, worker_ids: ["a"] }]);
    });

    it("by Restart or Disconnect, it asks nothing", async () => {
      await leave({ restart: true, terminateDebuggee: true });
      await leave({ restart: false, terminateDebuggee: false, suspendDebuggee: false });
      assert.deepEqual(editor.asked, []);
    });
  });

  it("attaches by itself when told to, once per worker", async () => {
    editor.settings["eagleray.autoAttach"] = "rank0";
    await show(worker("a", { rank: 1 }));
    assert.equal(debug.sessions.length, 0);
    await show(worker("a", { rank: 1 }), worker("b", { rank: 0 }));
    assert.equal(debug.sessions.length, 1);
    const [session] = debug.sessions;
    assert.ok(session);
    debug.ended.fire(session);
    await show(worker("b", { rank: 0 }));
    assert.equal(debug.sessions.length, 1);
  });

  it("leaves alone by itself what another window took first, and what pauses beside it", async () => {
    fakes.sidecar.on(ATTACH, () => {
      throw new EaglerayError("worker-taken", "p-a is attached to by another window.");
    });
    editor.settings["eagleray.autoAttach"] = "first";
    await show(worker("a"));
    await show(worker("a"), worker("b"));
    const [asked, more] = fakes.sidecar.sentTo(ATTACH);
    assert.equal((asked as { unless_taken: boolean }).unless_taken, true);
    assert.equal(more, undefined);
    assert.deepEqual(editor.asked, []);
    fakes.sidecar.on(ATTACH, (wanted) => attached(wanted.worker));
    await show(worker("b"));
    assert.equal(debug.sessions[0]?.configuration["worker"], "b");
    assert.equal(debug.sessions[0].configuration["unlessTaken"], undefined);
  });

  describe("when the connection of a session breaks", () => {
    const broken = async (...before: object[]): Promise<string | undefined> => {
      await editor.run("eagleray.attach", row(worker("a")));
      const [session] = debug.sessions;
      assert.ok(session);
      const watching = debug.trackers[1]?.createDebugAdapterTracker(session) as {
        onDidSendMessage(message: object): void;
        onError(error: Error): void;
      };
      for (const message of before) {
        watching.onDidSendMessage(message);
      }
      watching.onError(new Error("connection closed"));
      await settled();
      return editor.asked[0]?.text;
    };

    it("says that the adapter ended and that the worker ran on", async () => {
      const stopped = { type: "event", event: "stopped" };
      assert.match((await broken(stopped)) ?? "", /debug adapter ended.* have run on\./);
      assert.deepEqual(editor.asked[0]?.buttons, ["Show Logs"]);
    });

    it("says nothing after an end in order", async () => {
      assert.equal(await broken({ type: "event", event: "terminated" }), undefined);
    });
  });

  it("offers at the start what an earlier window left held", async () => {
    editor.answer = () => "Attach";
    await show(worker("a"), worker("b", { state: "held" }));
    await settled();
    assert.equal(editor.asked[0]?.text, "p-b is held where you left it.");
    assert.equal(debug.sessions[0]?.configuration["worker"], "b");
  });

  it("reminds of what is held for long", async () => {
    fakes.sidecar.on(RELEASE, () => ({ done: 1, failures: [] }));
    editor.answer = () => "Let It Run On";
    fakes.sidecar.notify(HELD_LONG, {
      cluster: CLUSTER,
      worker_id: "a",
      name: "p $(zap)",
      minutes: 15,
    });
    await settled();
    assert.equal(editor.asked[0]?.text, "p $\u200b(zap) has been held for 15 minutes.");
    assert.equal(fakes.sidecar.sentTo(RELEASE).length, 1);
  });

  it("takes back what is ignored", async () => {
    const one = { cluster: CLUSTER, path: "/r/x.py", line: 7 };
    fakes.sidecar.on(IGNORED, () => ({ ignored: [one] }));
    editor.answer = (asked) => (asked.options["items"] as object[])[0];
    await editor.run("eagleray.forgetIgnored");
    assert.deepEqual(fakes.sidecar.sentTo(FORGET_IGNORED), [one]);
  });
});
