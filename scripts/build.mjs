// Bundles the extension into dist/extension.js; `--watch` rebuilds, `--production` minifies.
import { context } from "esbuild";

import { root } from "./places.mjs";

const watch = process.argv.includes("--watch");
const production = process.argv.includes("--production");

const build = await context({
  absWorkingDir: root,
  entryPoints: ["extension/main.ts"],
  outfile: "dist/extension.js",
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
