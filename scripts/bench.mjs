// Measures speed against the plain tools and prints the table; `--json FILE` keeps it, `--quick` only shows that it works.
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

import { interpreter, makeEnvironment } from "./environments.mjs";
import { makeBrowser, makeEditor, makeNodePackages, makePackage } from "./packages.mjs";
import { out, root } from "./places.mjs";
import { endWithChildren, must, run } from "./run.mjs";

endWithChildren();
await Promise.all([makeNodePackages(), makeEnvironment("dev"), makeBrowser()]);
await makeEditor("1.139");

// The packed extension is measured, since that is what people have.
const target = process.arch === "arm64" ? "linux-arm64" : "linux-x64";
await makePackage(target);
const packed = join(out, `vsix-${target}`);
const activation = await must("node", [join(root, "tests", "bench", "activation.mjs"), packed], {
  cwd: root,
  limitMs: 300_000,
});
const editor = {
  activation: JSON.parse(activation.trim().split("\n").at(-1)),
  bundle: [kilobytes(join(packed, "dist"))],
};
const words = ["-m", "tests.bench", "--editor", JSON.stringify(editor), ...process.argv.slice(2)];
const { code } = await run(interpreter("dev"), words, {
  cwd: root,
  env: { PYTHONPATH: join(root, "pybackend"), PYTHONUNBUFFERED: "1" },
  onText: (text) => process.stdout.write(text),
});
process.exitCode = code;

function kilobytes(folder) {
  const sizes = readdirSync(folder).map((name) => statSync(join(folder, name)).size);
  return sizes.reduce((sum, size) => sum + size, 0) / 1000;
}
