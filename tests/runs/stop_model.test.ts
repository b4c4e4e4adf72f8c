import assert from "node:assert/strict";
import { test } from "node:test";

import { movementOf } from "../../extension/debug/attaching/stop_tracker";
import { nextStop, stoppedIn, type NextStopInput } from "../../extension/runs/run_stops";
import { aRun, runWorker } from "./samples";

const two = aRun({
  workers: [
    runWorker({ worker_id: "a", state: "paused" }),
    runWorker({ worker_id: "b" }),
    runWorker({ worker_id: "c", state: "paused" }),
  ],
});
const FREE: NextStopInput = {
  tried: new Set(),
  requested: new Set(),
  attached: new Set(),
  isStopped: false,
  isOurs: () => true,
  isAutomatic: true,
};

const CASES: readonly (readonly [string, Partial<NextStopInput>, string | undefined])[] = [
  ["the first that stands", {}, "a"],
  ["the next, when the first was in front already", { tried: new Set(["http://c:1 a 0"]) }, "c"],
  ["the next stop of one that was in front", { tried: new Set(["http://c:1 a 7"]) }, "a"],
  ["the next, when the first has a session", { attached: new Set(["http://c:1 a"]) }, "c"],
  ["none while the person stands at a line", { isStopped: true }, undefined],
  ["none of another window’s run", { isOurs: () => false }, undefined],
  ["none by itself when that is not wanted", { isAutomatic: false }, undefined],
  [
    "one that the person paused, wherever they look",
    {
      isStopped: true,
      isAutomatic: false,
      isOurs: () => false,
      requested: new Set(["http://c:1 c"]),
    },
    "c",
  ],
];

for (const [name, looking, worker] of CASES) {
  test(`to the front comes ${name}`, () => {
    const stopped = stoppedIn({ runs: [two] });
    assert.equal(nextStop(stopped, { ...FREE, ...looking })?.worker, worker);
  });
}

test("a run that is being stopped, or is over, has no stop for anybody", () => {
  const states = ["stopping", "cancelled", "exited", "failed"] as const;
  const runs = states.map((state) => ({ ...two, state }));
  assert.deepEqual(stoppedIn({ runs }), []);
});

const MOVES: readonly (readonly [object, string])[] = [
  [{ type: "event", event: "stopped", body: {} }, "stops"],
  [{ type: "event", event: "continued" }, "resumes"],
  [{ type: "response", command: "continue", success: true }, "resumes"],
  [{ type: "response", command: "stepIn", success: true }, "resumes"],
  [{ type: "response", command: "continue", success: false }, ""],
  [{ type: "response", command: "stackTrace", success: true }, ""],
  [{ type: "event", event: "output" }, ""],
  [{ type: "event", event: "terminated" }, "ends"],
  [{ type: "request", command: "disconnect" }, "is left"],
  [{ type: "request", command: "continue" }, ""],
];

for (const [message, move] of MOVES) {
  test(`${JSON.stringify(message)} says ${move || "nothing"}`, () => {
    assert.equal(movementOf(message), move);
  });
}
