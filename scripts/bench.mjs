// Measures speed against the plain tools and prints the table; `--json FILE` keeps it, `--quick` only shows that it works.
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

import { interpreter, makeEnvironment } from "./environments.mjs";
import { makeBrowser, makeEditor, makeNodePackages } from "./packages.mjs";
import { root } from "./places.mjs";
import { endWithChildren, must, run } from "./run.mjs";

endWithChildren();
await Promise.all([makeNodePackages(), makeEnvironment("dev"), makeBrowser()]);
await makeEditor("1.139");

const folder = mkdtempSync("/tmp/er-bench-");
try {
  const bundle = join(folder, "extension.js");
  await must("node", [join(root, "scripts", "build.mjs"), "--production", bundle], { cwd: root });
  const activation = await must("node", [join(root, "tests", "bench", "activation.mjs")], {
    cwd: root,
    limitMs: 300_000,
  });
  const editor = {
    activation: JSON.parse(activation.trim().split("\n").at(-1)),
    bundle: [statSync(bundle).size / 1000],
  };
  const words = ["-m", "tests.bench", "--editor", JSON.stringify(editor), ...process.argv.slice(2)];
  const { code } = await run(interpreter("dev"), words, {
    cwd: root,
    env: { PYTHONPATH: join(root, "pybackend"), PYTHONUNBUFFERED: "1" },
    onText: (text) => process.stdout.write(text),
  });
  process.exitCode = code;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
