// Tries debug runs on the example scripts of frameworks: `-- --repositories DIR`, `-- --only NAME`, `-- --json FILE`.
import { join } from "node:path";

import { interpreter, makeEnvironment } from "./environments.mjs";
import { root } from "./places.mjs";
import { endWithChildren, run } from "./run.mjs";

endWithChildren();
await makeEnvironment("dev");
const words = ["-m", "tests.presets_trial", ...process.argv.slice(2)];
const { code } = await run(interpreter("dev"), words, {
  cwd: root,
  env: { PYTHONPATH: join(root, "pybackend"), PYTHONUNBUFFERED: "1" },
  onText: (text) => process.stdout.write(text),
});
process.exitCode = code;
