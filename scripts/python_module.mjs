// Runs a Python module of the tests with this command's arguments and exit code.
import { join } from "node:path";

import { interpreter, makeEnvironment } from "./environments.mjs";
import { root } from "./paths.mjs";
import { endWithChildren, run } from "./run.mjs";

export async function runModule(name, ownArgs = process.argv.slice(2)) {
  endWithChildren();
  await makeEnvironment("dev");
  const args = ["-m", name, ...ownArgs];
  const { code } = await run(interpreter("dev"), args, {
    cwd: root,
    env: { PYTHONPATH: join(root, "pybackend"), PYTHONUNBUFFERED: "1" },
    onText: (text) => process.stdout.write(text),
  });
  process.exitCode = code;
}
