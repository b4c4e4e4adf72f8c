// Measures speed against the plain tools and prints a table: `--json FILE` writes it, `--quick` only checks that the
// bench works, `--lab` measures the rows that need the lab, `--runs` the rows of runs, `--hangs` pictures of hangs,
// `--rollouts` agents and rollouts, `--doctor` the doctor.
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

import { interpreter, makeEnvironment } from "./environments.mjs";
import {
  makeBrowser,
  makeBundle,
  makeEditor,
  makeLab,
  makeNodePackages,
  makePackage,
} from "./packages.mjs";
import { out, root } from "./paths.mjs";
import { endWithChildren, must, run } from "./run.mjs";

endWithChildren();
const options = process.argv.slice(2);
const parts = ["--lab", "--runs", "--hangs", "--rollouts", "--doctor"];
const part = parts.find((option) => options.includes(option));
const isLocal = part !== undefined && part !== "--lab";
await Promise.all([makeEnvironment("dev"), isLocal || makeLab()]);
if (part === undefined || part === "--rollouts") await makeEnvironment("engine");
if (!["--hangs", "--rollouts", "--doctor"].includes(part))
  for (const python of ["3.12", "3.13"]) await makeEnvironment(`worker-${python}`);
const editor = await measureEditor(part);
const args = ["-m", "tests.bench", "--editor", JSON.stringify(editor), ...options];
const { code } = await run(interpreter("dev"), args, {
  cwd: root,
  env: { PYTHONPATH: join(root, "pybackend"), PYTHONUNBUFFERED: "1" },
  onText: (text) => process.stdout.write(text),
});
process.exitCode = code;

/** Measurements in a browser for a part of the bench. */
async function measureEditor(part) {
  if (part === "--hangs") return { picture: await drawn("picture_page") };
  if (part === "--rollouts") return { trajectories: await drawn("trajectory_page") };
  return part === undefined ? await measurePackage() : {};
}

/** Milliseconds in which a page draws its largest content. */
async function drawn(page) {
  await makeNodePackages();
  await makeBrowser();
  await makeBundle();
  return await measured("page_drawing.mjs", page);
}

/** Measures the packed extension, since users have that one. */
async function measurePackage() {
  await makeNodePackages();
  await makeBrowser();
  await makeEditor("1.139");
  const target = process.arch === "arm64" ? "linux-arm64" : "linux-x64";
  await makePackage(target);
  const packed = join(out, `vsix-${target}`);
  return {
    activation: await measured("activation.mjs", packed),
    bundle: [kilobytes(join(packed, "dist"))],
    picture: await drawn("picture_page"),
  };
}

/** The last line that a script of the bench prints. */
async function measured(script, ...args) {
  const path = join(root, "tests", "bench", script);
  const output = await must("node", [path, ...args], { cwd: root, limitMs: 900_000 });
  return JSON.parse(output.trim().split("\n").at(-1));
}

function kilobytes(folder) {
  const sizes = readdirSync(folder).map((name) => statSync(join(folder, name)).size);
  return sizes.reduce((sum, size) => sum + size, 0) / 1000;
}
