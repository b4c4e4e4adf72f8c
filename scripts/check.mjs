// Static checks: formats, lints, types, layers, generated files, documents.
// Prints one line per step and the full output of those that fail; `--fix` applies the fixes of the tools.
import { join } from "node:path";

import { interpreter, makeEnvironment } from "./environments.mjs";
import { makeNodePackages } from "./packages.mjs";
import { root, venv } from "./paths.mjs";
import { endWithChildren, run } from "./run.mjs";

endWithChildren();
const fix = process.argv.includes("--fix");
const inVenv = (name) => join(venv, "bin", name);
const inNode = (name) => join(root, "node_modules", ".bin", name);

const steps = [
  ["ruff", inVenv("ruff"), ["check", ...(fix ? ["--fix"] : []), "."]],
  ["ruff format", inVenv("ruff"), ["format", ...(fix ? [] : ["--check"]), "."]],
  ["mypy", inVenv("mypy"), []],
  ["import-linter", inVenv("lint-imports"), []],
  [
    "messages",
    interpreter("dev"),
    ["pybackend/eagleray_start.py", "print-messages", ...(fix ? [] : ["--check"])],
  ],
  ["run options", interpreter("dev"), ["scripts/run_options.py", ...(fix ? [] : ["--check"])]],
  ["reference", process.execPath, ["scripts/reference.mjs", ...(fix ? [] : ["--check"])]],
  ["texts", process.execPath, ["scripts/l10n.mjs", "--check"]],
  ["tsc", inNode("tsc"), ["-p", "."]],
  ["tsc (pages)", inNode("tsc"), ["-p", "extension/page"]],
  ["eslint", inNode("eslint"), ["--max-warnings=0", ...(fix ? ["--fix"] : []), "."]],
  ["prettier", inNode("prettier"), [fix ? "--write" : "--check", "--log-level=warn", "."]],
  ["layers", interpreter("dev"), ["-m", "pytest", "-q", "--no-header", "tests/layers"]],
  ["layers (ts) and manifest", process.execPath, ["scripts/unit.mjs", "layers", "manifest"]],
  ["documents", interpreter("dev"), ["-m", "pytest", "-q", "--no-header", "tests/documents"]],
];

await Promise.all([makeNodePackages(), makeEnvironment("dev")]);
const env = { FORCE_COLOR: undefined, NO_COLOR: "1", PYTHONPATH: join(root, "pybackend") };
const failed = [];
for (const [name, command, args] of steps) {
  const start = Date.now();
  const { code, output } = await run(command, args, { cwd: root, env });
  console.log(
    `${code === 0 ? "ok    " : "FAILED"} ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`,
  );
  if (code !== 0) failed.push(`---- ${name}\n${output}`);
}
for (const text of failed) console.log(text);
if (failed.length > 0) console.log("`npm run check -- --fix` fixes what a tool can fix.");
console.log(`${steps.length - failed.length} passed, ${failed.length} failed`);
process.exitCode = failed.length === 0 ? 0 : 1;
