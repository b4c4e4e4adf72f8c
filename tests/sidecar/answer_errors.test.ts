// Whatever a request rejects with reaches the features as an error of the catalogue.
import assert from "node:assert/strict";
import { test } from "node:test";

import { answerError } from "../../extension/sidecar/answers";

const DATA = { code: "worker-gone", message: "policy_0 has ended.", next_step: "See its log." };

const CASES: readonly (readonly [string, unknown, string, string])[] = [
  [
    "an error of the sidecar's catalogue",
    Object.assign(new Error("policy_0 has ended."), { code: -32000, data: DATA }),
    "worker-gone",
    "policy_0 has ended. See its log.",
  ],
  ["a cancellation", Object.assign(new Error("x"), { code: -32800 }), "cancelled", "Cancelled."],
  [
    "a connection that closed",
    Object.assign(new Error("Pending response rejected"), { code: -32097 }),
    "sidecar-lost",
    "Eagleray’s background service stopped before it answered. It restarts automatically. Try again.",
  ],
  [
    "a connection that was disposed",
    new Error("Connection is disposed."),
    "sidecar-lost",
    "Eagleray’s background service stopped before it answered. It restarts automatically. Try again.",
  ],
  [
    "anything else",
    new TypeError("undefined is not a function"),
    "internal",
    "Something went wrong in Eagleray. The log has the details. Please report them.",
  ],
  [
    "nothing at all",
    undefined,
    "internal",
    "Something went wrong in Eagleray. The log has the details. Please report them.",
  ],
];

for (const [name, error, code, sentence] of CASES) {
  test(name, () => {
    const known = answerError(error);
    assert.deepEqual([known.code, known.sentence], [code, sentence]);
  });
}
