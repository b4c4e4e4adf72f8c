// Bundles the extension into dist/; `--watch` rebuilds; `--production FOLDER` minifies, into FOLDER.
import { resolve } from "node:path";

import { build, context } from "esbuild";

import { buildPage } from "./page.mjs";
import { root } from "./places.mjs";

const LIBRARY = "vscode-languageclient/node.js";

const watch = process.argv.includes("--watch");
const at = process.argv.indexOf("--production");
const production = at !== -1;
const outdir = (production && process.argv[at + 1]) || "dist";

const options = {
  absWorkingDir: root,
  outdir,
  bundle: true,
  external: ["vscode"],
  format: "cjs",
  platform: "node",
  target: "node20",
  minify: production,
  sourcemap: production ? false : "linked",
  legalComments: "none",
  logLevel: "info",
};
// The library is a file of its own, since it is five sixths of the whole and only the sidecar's first use needs it:
// an editor in which nobody debugs Ray does not read it.  `import()` becomes `require()`, which is what the editor
// hands "vscode" to.
const ownFile = {
  name: "the library in a file of its own",
  setup: ({ onResolve }) => {
    onResolve({ filter: /^vscode-languageclient/ }, ({ path }) =>
      path === LIBRARY
        ? { path: "./languageclient.js", external: true }
        : { errors: [{ text: `import it as ${LIBRARY}` }] },
    );
  },
};
await build({ ...options, entryPoints: { languageclient: LIBRARY } });
const extension = await context({
  ...options,
  entryPoints: { extension: "extension/main.ts" },
  supported: { "dynamic-import": false },
  plugins: [ownFile],
});

if (watch) {
  await extension.watch();
} else {
  await extension.rebuild();
  await extension.dispose();
}
await buildPage({ folder: resolve(root, outdir), production, watch });
