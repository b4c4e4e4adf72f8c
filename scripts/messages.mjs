// Prints the TypeScript wire types from the Python ones, and the options of runs; `--check` only lists stale files.
import { join } from "node:path";

import { interpreter } from "./environments.mjs";
import { root } from "./paths.mjs";
import { run } from "./run.mjs";

const printers = [
  [join(root, "pybackend", "eagleray_start.py"), "print-messages"],
  [join(root, "scripts", "run_options.py")],
];
for (const printer of printers) {
  const { code } = await run(interpreter("dev"), [...printer, ...process.argv.slice(2)], {
    cwd: root,
    env: { PYTHONPATH: join(root, "pybackend") },
    onText: (text) => process.stdout.write(text),
  });
  process.exitCode ||= code;
}
