// Prints the TypeScript wire types from the Python ones; `--check` only lists stale files.
import { join } from "node:path";

import { interpreter } from "./environments.mjs";
import { root } from "./paths.mjs";
import { run } from "./run.mjs";

const printer = join(root, "pybackend", "eagleray_start.py");
const args = [printer, "print-messages", ...process.argv.slice(2)];
const { code } = await run(interpreter("dev"), args, {
  cwd: root,
  onText: (text) => process.stdout.write(text),
});
process.exitCode = code;
