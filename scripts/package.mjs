// Packs out/eagleray-<version>-<target>.vsix: the extension with the Python libraries of the sidecar inside.
// `--target linux-x64` (may be repeated) chooses; without it every target is made. `--out DIR` is another folder for the
// .vsix files. A warning of vsce is an error.
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";

import { bootstrap, interpreter } from "./environments.mjs";
import { makeDebugger, makeLibraries } from "./libraries.mjs";
import { makeNodePackages } from "./packages.mjs";
import { out, root } from "./paths.mjs";
import { repository, repositoryArguments, repositoryFields } from "./repository.mjs";
import { endWithChildren, must } from "./run.mjs";

endWithChildren();

// The oldest Linux that the wheels must run on: login nodes of clusters are often old.
const PLATFORMS = {
  "linux-x64": "x86_64-manylinux2014",
  "linux-arm64": "aarch64-manylinux2014",
};
const CONTENTS = [
  "media",
  "bin",
  "pybackend",
  "samples",
  // Translations.
  ...readdirSync(root).filter((name) => /^(package\.nls\..*json|l10n)$/.test(name)),
  "README.md",
  "CHANGELOG.md",
  "LICENSE",
];

// The page of a registry loads pictures from the repository, and the editor loads none from an installed extension.
const PICTURES_OF_README = join("media", "readme");

const given = process.argv.slice(2);
const selected = given.filter((argument) => argument in PLATFORMS);
const folder = given.includes("--out") ? resolve(given[given.indexOf("--out") + 1]) : out;
const targets = selected.length > 0 ? selected : Object.keys(PLATFORMS);

const [{ uv }] = await Promise.all([bootstrap(), makeNodePackages()]);
for (const target of targets) console.log(await pack(target));

async function pack(target) {
  // Beside the file: a test may pack into its own folder while the demo packs.
  const stage = join(folder, `vsix-${target}`);
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(stage, { recursive: true });
  for (const name of CONTENTS) {
    cpSync(join(root, name), join(stage, name), {
      recursive: true,
      filter: (file) =>
        !/__pycache__|\.egg-info|\.py[co]$|\.map$|_cache$/.test(file) &&
        !file.endsWith(PICTURES_OF_README),
    });
  }
  chmodSync(join(stage, "bin", "eagleray"), 0o755);
  // Not into dist/, which an editor may be reading.
  const bundles = join(stage, "dist");
  await must("node", [join(root, "scripts", "build.mjs"), "--production", bundles], { cwd: root });
  await must("node", [join(root, "scripts", "l10n.mjs"), "--into", stage], { cwd: root });
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  for (const name of ["scripts", "devDependencies", "dependencies", "private"])
    delete manifest[name];
  Object.assign(manifest, repositoryFields(repository));
  writeFileSync(join(stage, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
  if (!repository) removePictures(join(stage, "README.md"));
  // Without this file vsce warns that too much may be packed.
  writeFileSync(join(stage, ".vscodeignore"), "# Only files to pack are here.\n");
  await makeLibraries(uv, PLATFORMS[target], join(stage, "_libs"));
  await makeDebugger(interpreter("dev"), target, join(stage, "_libs", "debugpy"));
  const vsix = join(folder, `eagleray-${manifest.version}-${target}.vsix`);
  const vsce = join(root, "node_modules", ".bin", "vsce");
  const args = ["--no-dependencies", ...repositoryArguments(repository)];
  const part = `${vsix}.part`;
  const printed = await must(vsce, ["package", ...args, "--target", target, "--out", part], {
    cwd: stage,
  });
  if (/\bwarn/i.test(printed)) throw new Error(`vsce warns:\n${printed}`);
  renameSync(part, vsix);
  return vsix;
}

/** Removes the pictures of a text that no repository has, since their links would be broken. */
function removePictures(file) {
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace(/^!\[[^\]]*\]\([^)]*\)\n\n?/gm, ""));
}
