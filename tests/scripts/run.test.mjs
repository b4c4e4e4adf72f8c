// Child processes of the developer's scripts.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { test } from "node:test";

const RUN = join(process.cwd(), "scripts", "run.mjs");

/** Runs `sleep`, then a command that creates the file. */
const PROGRAM = `
import { endWithChildren, run } from "${RUN}";
endWithChildren();
const first = run("sh", ["-c", "echo started; exec sleep 60"], { onText: (text) => process.stdout.write(text) });
await first;
await run("touch", [process.argv[1]]);
`;

test("a terminated script starts no further process", async () => {
  const folder = mkdtempSync(join(tmpdir(), "er-"));
  try {
    const file = join(folder, "second");
    const script = spawn(process.execPath, ["--input-type=module", "-e", PROGRAM, file], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(script.stdout, "data");
    script.kill("SIGTERM");
    const [code] = await once(script, "exit");
    assert.equal(code, 143);
    assert.equal(existsSync(file), false);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
