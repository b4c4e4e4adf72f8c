// Bundles the TypeScript unit tests and runs them with node:test.
// Arguments select files by a part of their path; `--junit FILE` writes the results.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join, relative } from "node:path";

import { build } from "esbuild";

import { out, root } from "./paths.mjs";
import { endWithChildren, run } from "./run.mjs";

endWithChildren();
const patterns = process.argv.slice(2);
const at = patterns.indexOf("--junit");
const junit = at === -1 ? undefined : patterns.splice(at, 2)[1];

// A folder of its own, since two of these may run at once: `check` in one terminal, a test in another.
mkdirSync(out, { recursive: true });
const folder = mkdtempSync(join(out, "unit-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const vscode = join(root, "tests", "fakes", "vscode.ts");
// tests/vscode runs inside the real editor and is started by its own scripts.
const files = readdirSync(join(root, "tests"), { recursive: true })
  .filter((file) => /\.test\.(ts|mjs)$/.test(file) && !file.startsWith("vscode"))
  .map((file) => join(root, "tests", file))
  .filter((file) => patterns.length === 0 || patterns.some((pattern) => file.includes(pattern)));

await build({
  absWorkingDir: root,
  entryPoints: files.map((file) => relative(root, file)),
  outbase: "tests",
  outdir: folder,
  bundle: true,
  packages: "external",
  format: "cjs",
  platform: "node",
  target: "node20",
  sourcemap: "inline",
  logLevel: "warning",
  plugins: [
    {
      name: "vscode",
      setup(plugins) {
        if (!existsSync(vscode)) return;
        plugins.onResolve({ filter: /^vscode$/ }, () => ({ path: vscode }));
      },
    },
  ],
});
const built = readdirSync(folder, { recursive: true })
  .filter((file) => file.endsWith(".test.js"))
  .map((file) => join(folder, file));
const reporters = ["--test-reporter=spec", "--test-reporter-destination=stdout"];
if (junit !== undefined) {
  reporters.push("--test-reporter=junit", `--test-reporter-destination=${junit}`);
}
const args = ["--enable-source-maps", "--test", "--test-concurrency=2", ...reporters, ...built];
const { code } = await run(process.execPath, args, {
  cwd: root,
  onText: (text) => process.stdout.write(text),
});
process.exitCode = code;
