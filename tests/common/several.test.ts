import assert from "node:assert/strict";
import { test } from "node:test";

import { EaglerayError, withEach } from "../../extension/common/errors";

/** Does nothing but what `fails` says of a name; the names that had their turn. */
async function done(names: readonly string[], fails: (name: string) => void): Promise<string[]> {
  const had: string[] = [];
  await withEach(
    names,
    (name) => name,
    (name) => {
      had.push(name);
      return Promise.resolve().then(() => {
        fails(name);
      });
    },
  ).catch((error: unknown) => {
    assert.ok(error instanceof EaglerayError);
    had.push(error.sentence);
  });
  return had;
}

const fails =
  (...names: string[]) =>
  (name: string): void => {
    if (names.includes(name)) {
      throw new EaglerayError("refused", `It refused ${name}.`, "Ask again.");
    }
  };

test("what fails keeps nothing else from its turn, and all that failed is one error", async () => {
  assert.deepEqual(await done(["a", "b", "c"], fails("a", "c")), [
    "a",
    "b",
    "c",
    "2 of 3 failed. a: It refused a. Ask again. c: It refused c. Ask again.",
  ]);
});

test("one alone fails with its own words, as do several that fail with the same ones", async () => {
  assert.deepEqual(await done(["a"], fails("a")), ["a", "It refused a. Ask again."]);
  const lost = (): void => {
    throw new EaglerayError("sidecar-lost", "The sidecar ended.");
  };
  assert.deepEqual(await done(["a", "b"], lost), ["a", "b", "The sidecar ended."]);
});

test("a cancellation leaves out the rest, and is not an error", async () => {
  const cancelled = (): void => {
    throw new EaglerayError("cancelled", "It was cancelled.");
  };
  assert.deepEqual(await done(["a", "b"], cancelled), ["a"]);
});
