// Processes that outlive a run are found by their parents and by their mark.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";

import { Started } from "../../scripts/leftovers.mjs";

test("an unmarked child and a marked detached grandchild are found and ended", async () => {
  const started = new Started("EAGLERAY_TEST_LEFT=1");
  const child = spawn("sleep", ["300"], { stdio: "ignore" });
  const detached = "(sleep 301 >/dev/null 2>&1 & echo $!) | head -1";
  const shell = spawn("sh", ["-c", detached], { env: { ...process.env, EAGLERAY_TEST_LEFT: "1" } });
  let output = "";
  shell.stdout.on("data", (data) => (output += data));
  await new Promise((resolve) => shell.once("close", resolve));

  const left = await started.left(0);
  assert.deepEqual(
    left.map(({ pid }) => pid).sort(),
    [child.pid, Number(output)].sort(),
    JSON.stringify(left),
  );
  await started.end();
  assert.deepEqual(await started.left(0), []);
});
