// Restart and Stop in the debugger's toolbar: an agent's item runs again or ends, a worker of Ray stays as it is.
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { CHANGED } from "../../../extension/runs/messages";
import { settled } from "../../fakes/app";
import {
  debug,
  DebugAdapterInlineImplementation,
  editor,
  type FakeSession,
} from "../../fakes/vscode";
import { aRun, runWorker } from "../../runs/samples";
import { Feature, row, worker } from "./feature";

describe("Restart", () => {
  const feature = new Feature();

  const leave = async (isAgent: boolean, restart: boolean): Promise<FakeSession> => {
    const run = aRun({ workers: [runWorker({ worker_id: "a" })], is_agent: isAgent });
    feature.fakes.sidecar.notify(CHANGED, { runs: [run] });
    await settled();
    await editor.run("eagleray.attach", row(worker("a")));
    const [session] = debug.sessions;
    assert.ok(session);
    editor.executed = [];
    for (const factory of debug.trackers) {
      const tracker = factory.createDebugAdapterTracker(session) as {
        onWillReceiveMessage?(message: object): void;
        onWillStopSession?(): void;
      };
      tracker.onWillReceiveMessage?.({
        type: "request",
        command: "disconnect",
        arguments: { restart, terminateDebuggee: true },
      });
      tracker.onWillStopSession?.();
    }
    return session;
  };
  const restarted = (): unknown[] => runsOf("eagleray.restartRun");
  const runsOf = (wanted: string): unknown[] =>
    editor.executed
      .filter(({ command }) => command === wanted)
      .map(({ args }) => (args[0] as { run: { id: string } }).run.id);

  it("of an agent’s session starts its run again, and ends the session without a message", async () => {
    const session = await leave(true, true);
    assert.deepEqual(restarted(), ["0123456789ab"]);
    const given = await debug.factory?.createDebugAdapterDescriptor(session);
    assert.ok(given instanceof DebugAdapterInlineImplementation);
    assert.deepEqual(editor.asked, []);
  });

  it("of another worker attaches again", async () => {
    await leave(false, true);
    assert.deepEqual(restarted(), []);
  });

  it("differs from Stop, which ends an agent’s run without a question", async () => {
    await leave(true, false);
    assert.deepEqual([restarted(), runsOf("eagleray.stopRun")], [[], ["0123456789ab"]]);
    assert.deepEqual(editor.asked, []);
  });

  it("differs from Stop, which asks about another worker", async () => {
    await leave(false, false);
    assert.deepEqual(runsOf("eagleray.stopRun"), []);
    assert.match(editor.asked[0]?.text ?? "", /is still paused\. Resume it\?/);
  });
});
