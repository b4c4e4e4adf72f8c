/**
 * Automatic actions of the debugging feature: after sessions end, when a worker pauses, for what is held or ignored.
 */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { EaglerayError } from "../../../extension/common/errors";
import {
  ATTACH,
  FORGET_IGNORED,
  HELD_LONG,
  IGNORE,
  IGNORED,
  RELEASE,
} from "../../../extension/debug/attaching/messages";
import { settled } from "../../fakes/app";
import { debug, editor, SourceBreakpoint, Uri, type FakeSession } from "../../fakes/vscode";
import { attached, CLUSTER, Feature, row, worker } from "./feature";

interface SessionTracker {
  onWillReceiveMessage?(message: object): void;
  onDidSendMessage?(message: object): void;
  onError?(error: Error): void;
  onWillStopSession?(): void;
}

describe("the debugging feature by itself", () => {
  const feature = new Feature();
  const trackers = (session: FakeSession): SessionTracker[] =>
    debug.trackers.map((factory) => factory.createDebugAdapterTracker(session) as SessionTracker);

  describe("after the session has ended", () => {
    const disconnect = (args: object): object => ({
      type: "request",
      command: "disconnect",
      arguments: args,
    });
    const leave = async (args: object): Promise<void> => {
      feature.fakes.sidecar.on(RELEASE, () => ({ done: 1, failures: [], ignored: [] }));
      await editor.run("eagleray.attach", row(worker("a")));
      const [session] = debug.sessions;
      assert.ok(session);
      const watching = trackers(session);
      for (const tracker of watching) {
        tracker.onWillReceiveMessage?.(disconnect(args));
      }
      for (const tracker of watching) {
        tracker.onWillStopSession?.();
      }
      await settled();
    };

    it("by Stop, it asks, and lets the worker run on only if told to", async () => {
      await leave({ restart: false, terminateDebuggee: true });
      assert.match(editor.asked[0]?.text ?? "", /is still paused\. Resume it\?/);
      assert.equal(feature.fakes.sidecar.sentTo(RELEASE).length, 0);
      editor.answer = () => "Resume";
      await leave({ restart: false, terminateDebuggee: true });
      assert.deepEqual(feature.fakes.sidecar.sentTo(RELEASE), [
        { cluster: CLUSTER, worker_ids: ["a"] },
      ]);
    });

    it("by Restart or Disconnect, it asks nothing", async () => {
      await leave({ restart: true, terminateDebuggee: true });
      await leave({ restart: false, terminateDebuggee: false, suspendDebuggee: false });
      assert.deepEqual(editor.asked, []);
    });
  });

  it("attaches by itself when told to, once per worker", async () => {
    editor.settings["eagleray.autoAttach"] = "rank0";
    await feature.show(worker("a", { rank: 1 }));
    assert.equal(debug.sessions.length, 0);
    await feature.show(worker("a", { rank: 1 }), worker("b", { rank: 0 }));
    assert.equal(debug.sessions.length, 1);
    const [session] = debug.sessions;
    assert.ok(session);
    debug.ended.fire(session);
    await feature.show(worker("b", { rank: 0 }));
    assert.equal(debug.sessions.length, 1);
  });

  it("leaves alone by itself what another window took first, and what pauses beside it", async () => {
    feature.fakes.sidecar.on(ATTACH, () => {
      throw new EaglerayError("worker-taken", "p-a is attached to by another window.");
    });
    editor.settings["eagleray.autoAttach"] = "first";
    await feature.show(worker("a"));
    await feature.show(worker("a"), worker("b"));
    const [asked, more] = feature.fakes.sidecar.sentTo(ATTACH);
    assert.equal((asked as { unless_taken: boolean }).unless_taken, true);
    assert.equal(more, undefined);
    assert.deepEqual(editor.asked, []);
    feature.fakes.sidecar.on(ATTACH, (wanted) => attached(wanted.worker));
    await feature.show(worker("b"));
    assert.equal(debug.sessions[0]?.configuration["worker"], "b");
    assert.equal(debug.sessions[0].configuration["unlessTaken"], undefined);
  });

  describe("when the connection of a session breaks", () => {
    const broken = async (...before: object[]): Promise<string | undefined> => {
      await editor.run("eagleray.attach", row(worker("a")));
      const [session] = debug.sessions;
      assert.ok(session);
      for (const tracker of trackers(session)) {
        for (const message of before) {
          tracker.onDidSendMessage?.(message);
        }
        tracker.onError?.(new Error("connection closed"));
      }
      await settled();
      return editor.asked[0]?.text;
    };

    it("says that the adapter ended and that the worker ran on", async () => {
      const stopped = { type: "event", event: "stopped" };
      assert.match((await broken(stopped)) ?? "", /debug adapter stopped\..* have resumed\./);
      assert.deepEqual(editor.asked[0]?.buttons, ["Show Log"]);
    });

    it("says nothing after an end in order", async () => {
      assert.equal(await broken({ type: "event", event: "terminated" }), undefined);
    });
  });

  it("offers at the start what an earlier window left held", async () => {
    editor.answer = () => "Attach";
    await feature.show(worker("a"), worker("b", { state: "held" }));
    await settled();
    assert.equal(editor.asked[0]?.text, "p-b still waits where you left it.");
    assert.equal(debug.sessions[0]?.configuration["worker"], "b");
  });

  it("reminds of what is held for long", async () => {
    feature.fakes.sidecar.on(RELEASE, () => ({ done: 1, failures: [], ignored: [] }));
    editor.answer = () => "Resume";
    feature.fakes.sidecar.notify(HELD_LONG, {
      cluster: CLUSTER,
      worker_id: "a",
      name: "p $(zap)",
      held_s: 15 * 60,
    });
    await settled();
    assert.equal(editor.asked[0]?.text, "p $\u200b(zap) has been held for 15 m.");
    assert.equal(feature.fakes.sidecar.sentTo(RELEASE).length, 1);
  });

  it("takes back what is ignored", async () => {
    const place = { cluster: CLUSTER, session: "s", path: "/r/x.py", line: 7, listed_line: 7 };
    feature.fakes.sidecar.on(IGNORED, () => ({ ignored: [place] }));
    editor.answer = (asked) => (asked.options["items"] as object[])[0];
    await editor.run("eagleray.manageSkipped");
    assert.deepEqual(feature.fakes.sidecar.sentTo(FORGET_IGNORED), [place]);
  });

  it("says so when nothing is skipped", async () => {
    feature.fakes.sidecar.on(IGNORED, () => ({ ignored: [] }));
    await editor.run("eagleray.manageSkipped");
    assert.equal(editor.asked[0]?.text, "No breakpoint() is skipped.");
  });

  it("confirms a skip, which Undo takes back", async () => {
    const place = { cluster: CLUSTER, session: "s", path: "/r/x.py", line: 24, listed_line: 23 };
    feature.fakes.sidecar.on(IGNORE, () => ({ done: 1, failures: [], ignored: [place] }));
    await feature.show(worker("a"));
    editor.answer = () => "Undo";
    await editor.run("eagleray.skipBreakpoint", row(worker("a")));
    await settled();
    assert.equal(editor.asked[0]?.text, "Skipping x.py:23 in all workers of this cluster.");
    assert.deepEqual(feature.fakes.sidecar.sentTo(FORGET_IGNORED), [place]);
  });

  it("removes a breakpoint of the editor instead of skipping its line under the dot", async () => {
    const location = { path: "/r/x.py", line: 23, function: "f", local: "/l/x.py" };
    const range = { start: { line: 22 } };
    const dot = new SourceBreakpoint({ uri: Uri.file("/l/x.py"), range });
    const other = new SourceBreakpoint({ uri: Uri.file("/l/y.py"), range });
    debug.setBreakpoints(dot, other);
    await feature.show(worker("a", { location }));
    editor.answer = () => "Remove Breakpoint";
    await editor.run("eagleray.skipBreakpoint", row(worker("a", { location })));
    await settled();
    assert.equal(
      editor.asked[0]?.text,
      "x.py:23 is a breakpoint of the editor. Remove it instead.",
    );
    assert.deepEqual(feature.fakes.sidecar.sentTo(IGNORE), []);
    assert.deepEqual(debug.breakpoints, [other]);
  });

  it("says nothing of a skip that failed", async () => {
    const failure = { worker_id: "a", name: "a", code: "x", message: "Bad.", next_step: "" };
    feature.fakes.sidecar.on(IGNORE, () => ({ done: 0, failures: [failure], ignored: [] }));
    await feature.show(worker("a"));
    await editor.run("eagleray.skipBreakpoint", row(worker("a")));
    await settled();
    assert.deepEqual(
      editor.asked.map(({ text }) => text),
      ["Bad."],
    );
  });
});
