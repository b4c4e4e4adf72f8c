// Measures speed against the plain tools and prints the table; `--json FILE` keeps it, `--quick` only shows that it works,
// `--lab` measures only what needs the lab, `--runs` only what is about runs.
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

import { interpreter, makeEnvironment } from "./environments.mjs";
import { makeBrowser, makeEditor, makeLab, makeNodePackages, makePackage } from "./packages.mjs";
import { out, root } from "./places.mjs";
import { endWithChildren, must, run } from "./run.mjs";

endWithChildren();
const arguments_ = process.argv.slice(2);
const part = ["--lab", "--runs"].find((word) => arguments_.includes(word));
await Promise.all([makeEnvironment("dev"), part === "--runs" || makeLab()]);
for (const python of ["3.12", "3.13"]) await makeEnvironment(`worker-${python}`);
const editor = part ? {} : await measureEditor();
const words = ["-m", "tests.bench", "--editor", JSON.stringify(editor), ...arguments_];
const { code } = await run(interpreter("dev"), words, {
  cwd: root,
  env: { PYTHONPATH: join(root, "pybackend"), PYTHONUNBUFFERED: "1" },
  onText: (text) => process.stdout.write(text),
});
process.exitCode = code;

/** The packed extension is measured, since that is what people have. */
async function measureEditor() {
  await makeNodePackages();
  await makeBrowser();
  await makeEditor("1.139");
  const target = process.arch === "arm64" ? "linux-arm64" : "linux-x64";
  await makePackage(target);
  const packed = join(out, `vsix-${target}`);
  const script = join(root, "tests", "bench", "activation.mjs");
  const said = await must("node", [script, packed], { cwd: root, limitMs: 300_000 });
  return {
    activation: JSON.parse(said.trim().split("\n").at(-1)),
    bundle: [kilobytes(join(packed, "dist"))],
  };
}

function kilobytes(folder) {
  const sizes = readdirSync(folder).map((name) => statSync(join(folder, name)).size);
  return sizes.reduce((sum, size) => sum + size, 0) / 1000;
}
