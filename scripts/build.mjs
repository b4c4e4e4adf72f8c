// Bundles the extension into dist/extension.js; `--watch` rebuilds; `--production FILE` minifies, into FILE.
import { context } from "esbuild";

import { root } from "./places.mjs";

const watch = process.argv.includes("--watch");
const at = process.argv.indexOf("--production");
const production = at !== -1;
const outfile = (production && process.argv[at + 1]) || "dist/extension.js";

const build = await context({
  absWorkingDir: root,
  entryPoints: ["extension/main.ts"],
  outfile,
  bundle: true,
  external: ["vscode"],
  format: "cjs",
  platform: "node",
  target: "node20",
  minify: production,
  sourcemap: production ? false : "linked",
  legalComments: "none",
  logLevel: "info",
});

if (watch) {
  await build.watch();
} else {
  await build.rebuild();
  await build.dispose();
}
