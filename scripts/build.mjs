// Bundles the extension into dist/; `--watch` rebuilds; `--production FOLDER` minifies, into FOLDER.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";

import { build, context, transform } from "esbuild";

import { buildPage } from "./page.mjs";
import { root } from "./places.mjs";

const watch = process.argv.includes("--watch");
const at = process.argv.indexOf("--production");
const production = at !== -1;
const folder = resolve(root, (production && process.argv[at + 1]) || "dist");

const FIRST = "extension.js";
const common = {
  target: "node20",
  platform: "node",
  minify: production,
  sourcemap: production ? false : "inline",
  legalComments: "none",
  // UTF-8 is shorter than the escapes of typographic quotation marks and dots.
  charset: "utf8",
};

// What is imported by `import()` stands in a file of its own, which is read at its first use: an editor in which nobody
// debugs Ray reads little.  esbuild makes such pieces of ES modules only, and the editor hands "vscode" to `require()`
// alone; so each becomes a CommonJS module afterwards.  What the first file shares with others stays in it.
const pieces = {
  name: "pieces that are read when they are needed",
  setup: ({ onEnd }) => {
    onEnd(async ({ outputFiles, metafile, errors }) => {
      if (errors.length > 0) return;
      const texts = new Map(outputFiles.map(({ path, text }) => [basename(path), text]));
      const atOnce = readAtOnce(metafile.outputs);
      const later = [...texts.keys()].filter((name) => !atOnce.includes(name));
      const made = [
        asFirst(texts, atOnce),
        ...later.map((name) => asLater(name, texts.get(name), atOnce)),
      ];
      const written = [FIRST, ...later];
      mkdirSync(folder, { recursive: true });
      for (const [i, text] of (await Promise.all(made)).entries()) {
        writeFileSync(join(folder, written[i]), text);
      }
      removeOthers(written);
    });
  },
};

/** The names of the pieces without which the first one cannot run. */
function readAtOnce(outputs) {
  const pathOf = new Map(Object.keys(outputs).map((path) => [basename(path), path]));
  const found = [FIRST];
  for (const name of found) {
    const shared = outputs[pathOf.get(name)].imports
      .filter(({ kind, external }) => kind === "import-statement" && !external)
      .map(({ path }) => basename(path));
    found.push(...shared.filter((one) => !found.includes(one)));
  }
  return found;
}

/** The first file, with all that is read at once; each piece in it is an export for the others. */
async function asFirst(texts, atOnce) {
  const shared = atOnce.filter((name) => name !== FIRST);
  const lines = shared.map((name) => `export * as ${idOf(name, atOnce)} from "./${name}";`);
  const memory = {
    name: "pieces in memory",
    setup: ({ onResolve, onLoad }) => {
      onResolve({ filter: /^\.\// }, ({ path }) =>
        atOnce.includes(basename(path)) ? { path, namespace: "piece" } : { path, external: true },
      );
      onLoad({ filter: /./, namespace: "piece" }, ({ path }) => ({
        contents: texts.get(basename(path)),
      }));
    },
  };
  const { outputFiles } = await build({
    ...common,
    stdin: { contents: [`export * from "./${FIRST}";`, ...lines].join("\n"), resolveDir: folder },
    bundle: true,
    write: false,
    format: "cjs",
    external: ["vscode"],
    supported: { "dynamic-import": false },
    plugins: [memory],
  });
  return outputFiles[0].text;
}

/** A piece as CommonJS, which takes from the first file what they share. */
async function asLater(name, text, atOnce) {
  // The first file has run these before anything reads this one.
  const needed = text.replaceAll(/import ?"\.\/([\w.-]+)";/g, (line, other) =>
    atOnce.includes(other) ? "" : line,
  );
  const { code } = await transform(needed, {
    ...common,
    sourcefile: name,
    format: "cjs",
    // For Node.js esbuild adds a list of the names, which only its ES modules read.
    platform: "neutral",
    supported: { "dynamic-import": false },
  });
  return code.replaceAll(/require\("\.\/([\w.-]+)"\)/g, (call, other) =>
    atOnce.includes(other) ? `require("./${FIRST}").${idOf(other, atOnce)}` : call,
  );
}

/** The name under which the first file exports this piece; short, since every file that needs the piece repeats it. */
function idOf(name, atOnce) {
  return `_${atOnce.indexOf(name)}`;
}

/** Pieces are named after their contents, so those of an earlier build would stay. */
function removeOthers(written) {
  for (const name of readdirSync(folder)) {
    if (/-[A-Z0-9]{8}\.js$/.test(name) && !written.includes(name)) rmSync(join(folder, name));
  }
}

const extension = await context({
  ...common,
  absWorkingDir: root,
  entryPoints: { extension: "extension/main.ts" },
  outdir: folder,
  write: false,
  metafile: true,
  bundle: true,
  splitting: true,
  external: ["vscode"],
  alias: {
    // `require()` would get the UMD build, which wraps the same code in more text.
    "vscode-languageserver-types": resolve(
      root,
      "node_modules/vscode-languageserver-types/lib/esm/main.js",
    ),
  },
  format: "esm",
  logLevel: "info",
  plugins: [pieces],
});

if (watch) {
  await extension.watch();
} else {
  await extension.rebuild();
  await extension.dispose();
}
await buildPage({ folder, production, watch });
