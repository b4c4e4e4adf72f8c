// Which sessions count as stopped, as the messages between the editor and the adapter say it.
import assert from "node:assert/strict";
import { test } from "node:test";

import type { DebugSession } from "vscode";

import { StopTracker } from "../../../extension/debug/attaching/stop_tracker";
import "../../fakes/vscode";

test("a stop soon after a step leaves no timer", () => {
  const standing = new StopTracker();
  const configuration = { cluster: "http://c:1", worker: "a" };
  const session = { id: "1", type: "eagleray", name: "a", configuration } as unknown;
  const tracker = standing.createDebugAdapterTracker(session as DebugSession);
  for (let step = 0; step < 3; step += 1) {
    tracker.onDidSendMessage?.({ type: "event", event: "continued" });
    tracker.onDidSendMessage?.({ type: "event", event: "stopped", body: {} });
  }
  assert.equal((Reflect.get(standing, "timers") as Set<unknown>).size, 0);
  assert.equal(standing.isStopped, true);
  standing.dispose();
});
