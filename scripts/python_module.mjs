// Runs a Python module of the tests with the arguments of the command, and ends with its exit code.
import { join } from "node:path";

import { interpreter, makeEnvironment } from "./environments.mjs";
import { root } from "./places.mjs";
import { endWithChildren, run } from "./run.mjs";

export async function runModule(name) {
  endWithChildren();
  await makeEnvironment("dev");
  const words = ["-m", name, ...process.argv.slice(2)];
  const { code } = await run(interpreter("dev"), words, {
    cwd: root,
    env: { PYTHONPATH: join(root, "pybackend"), PYTHONUNBUFFERED: "1" },
    onText: (text) => process.stdout.write(text),
  });
  process.exitCode = code;
}
