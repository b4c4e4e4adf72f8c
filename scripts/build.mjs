// Bundles the extension into dist/; `--watch` rebuilds; `--production FOLDER` minifies, into FOLDER.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";

import { build, context, transform } from "esbuild";

import { buildPage } from "./page.mjs";
import { root } from "./paths.mjs";

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

// A module that is imported by `import()` becomes a file of its own, read at its first use: an editor without Ray
// debugging reads little.  esbuild makes such chunks of ES modules only, and the editor provides "vscode" to
// `require()` only, so each is converted to a CommonJS module.  Code that the first file shares with others stays in
// it.
const chunks = {
  name: "chunks that are read at their first use",
  setup: ({ onEnd }) => {
    onEnd(async ({ outputFiles, metafile, errors }) => {
      if (errors.length > 0) return;
      const texts = new Map(
        outputFiles.map(({ path, text }) => [basename(path), withoutCopies(text)]),
      );
      const initial = initialChunks(metafile.outputs);
      const lazy = [...texts.keys()].filter((name) => !initial.includes(name));
      const modules = [
        firstModule(texts, initial),
        ...lazy.map((name) => lazyModule(name, texts.get(name), initial)),
      ];
      const written = [FIRST, ...lazy];
      mkdirSync(folder, { recursive: true });
      for (const [i, text] of (await Promise.all(modules)).entries()) {
        writeFileSync(join(folder, written[i]), text);
      }
      removeOthers(written);
    });
  },
};

/** The names of the chunks that the first one needs to run. */
function initialChunks(outputs) {
  const pathOf = new Map(Object.keys(outputs).map((path) => [basename(path), path]));
  const names = [FIRST];
  for (const name of names) {
    const shared = outputs[pathOf.get(name)].imports
      .filter(({ kind, external }) => kind === "import-statement" && !external)
      .map(({ path }) => basename(path));
    names.push(...shared.filter((each) => !names.includes(each)));
  }
  return names;
}

/** The first file with all initial chunks, each of which is an export for the lazy ones. */
async function firstModule(texts, initial) {
  const shared = initial.filter((name) => name !== FIRST);
  const lines = shared.map((name) => `export * as ${idOf(name, initial)} from "./${name}";`);
  const memory = {
    name: "chunks in memory",
    setup: ({ onResolve, onLoad }) => {
      onResolve({ filter: /^\.\// }, ({ path }) =>
        initial.includes(basename(path)) ? { path, namespace: "chunk" } : { path, external: true },
      );
      onLoad({ filter: /./, namespace: "chunk" }, ({ path }) => ({
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
    // For Node.js, esbuild adds a list of the names that only its ES modules read.
    platform: "neutral",
    external: ["vscode", "node:*"],
    supported: { "dynamic-import": false },
    plugins: [memory],
  });
  return outputFiles[0].text;
}

/** A lazy chunk as CommonJS; it takes shared code from the first file. */
async function lazyModule(name, text, initial) {
  // The first file has run these imports already.
  const code = text.replaceAll(/import ?"\.\/([\w.-]+)";/g, (line, other) =>
    initial.includes(other) ? "" : line,
  );
  const transformed = await transform(code, {
    ...common,
    sourcefile: name,
    format: "cjs",
    platform: "neutral",
    supported: { "dynamic-import": false },
  });
  return transformed.code.replaceAll(/require\("\.\/([\w.-]+)"\)/g, (call, other) =>
    initial.includes(other) ? `require("./${FIRST}").${idOf(other, initial)}` : call,
  );
}

/**
 * `import` of "vscode" as a call of `require`: for the import esbuild copies the namespace into each module.  The editor's
 * interface has about 400 members: 34 copies of it took more than half of the time in which the extension loaded.
 */
function withoutCopies(text) {
  return text
    .replaceAll(
      /import ?\* ?as ([\w$]+) from ?"vscode";/g,
      (_, name) => `var ${name} = require("vscode");`,
    )
    .replaceAll(
      /import ?\{([^}]+)\} ?from ?"vscode";/g,
      (_, names) => `var {${names.replaceAll(" as ", ": ")}} = require("vscode");`,
    );
}

/** The name under which the first file exports a chunk; short, since every file that needs the chunk repeats it. */
function idOf(name, initial) {
  return `_${initial.indexOf(name)}`;
}

/** Removes the chunks of earlier builds, which have other names: a name contains a hash of the content. */
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
  format: "esm",
  logLevel: "info",
  plugins: [chunks],
});

if (watch) {
  await extension.watch();
} else {
  await extension.rebuild();
  await extension.dispose();
}
await buildPage({ folder, production, watch });
