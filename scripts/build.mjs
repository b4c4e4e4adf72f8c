// Bundles the extension into dist/; `--watch` rebuilds; `--production FOLDER` minifies, into FOLDER.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";

import { context, transform } from "esbuild";

import { root } from "./places.mjs";

const watch = process.argv.includes("--watch");
const at = process.argv.indexOf("--production");
const production = at !== -1;
const folder = resolve(root, (production && process.argv[at + 1]) || "dist");

const target = "node20";
const sourcemap = production ? false : "inline";

// What is imported by `import()` stands in a file of its own, which is read at its first use, and what several files
// share in one more: an editor in which nobody debugs Ray reads little.  esbuild makes such pieces of ES modules only,
// and the editor hands "vscode" to `require()` alone; so each piece is made a CommonJS module afterwards.
const pieces = {
  name: "pieces that are read when they are needed",
  setup: ({ onEnd }) => {
    onEnd(async ({ outputFiles, errors }) => {
      if (errors.length === 0) {
        const written = await Promise.all(outputFiles.map(writeAsCommonJs));
        removeOthers(new Set(written));
      }
    });
  },
};

async function writeAsCommonJs({ path, text }) {
  const name = basename(path);
  const { code } = await transform(text, {
    sourcefile: name,
    format: "cjs",
    target,
    supported: { "dynamic-import": false },
    minify: production,
    sourcemap,
    legalComments: "none",
  });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), code);
  return name;
}

/** Pieces are named after their contents, so those of an earlier build would stay. */
function removeOthers(written) {
  for (const name of readdirSync(folder)) {
    if (/-[A-Z0-9]{8}\.js$/.test(name) && !written.has(name)) rmSync(join(folder, name));
  }
}

const extension = await context({
  absWorkingDir: root,
  entryPoints: { extension: "extension/main.ts" },
  outdir: folder,
  write: false,
  bundle: true,
  splitting: true,
  external: ["vscode"],
  format: "esm",
  platform: "node",
  target,
  minify: production,
  sourcemap,
  legalComments: "none",
  logLevel: "info",
  plugins: [pieces],
});

if (watch) {
  await extension.watch();
} else {
  await extension.rebuild();
  await extension.dispose();
}
