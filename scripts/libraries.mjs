// The Python libraries of a .vsix: `_libs/any` for every Python, `_libs/cp310` … for compiled ones, and `_libs/debugpy`,
// which we don't import, for workers without a debugpy of their own.
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

import { cache, root } from "./paths.mjs";
import { must, retry } from "./run.mjs";

const PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"];

/** Installs requirements/runtime.txt for every Python into `folder`, for any platform. */
export async function makeLibraries(uv, platform, folder) {
  const installed = new Map();
  for (const python of PYTHONS) {
    const target = join(folder, `.${python}`);
    await retry(`the libraries of Python ${python}`, () => {
      rmSync(target, { recursive: true, force: true });
      return install(uv, platform, python, target);
    });
    installed.set(python, { target, packages: packagesIn(target) });
  }
  for (const [python, { target, packages }] of installed) {
    for (const { id, files, forAny } of packages) {
      const everywhere = [...installed.values()].every((other) =>
        other.packages.some((p) => p.id === id),
      );
      const place = forAny && everywhere ? "any" : `cp${python.replace(".", "")}`;
      for (const file of files) move(join(target, file), join(folder, place, file));
    }
    rmSync(target, { recursive: true });
  }
}

async function install(uv, platform, python, target) {
  const args = [
    "pip",
    "install",
    "--quiet",
    "--require-hashes",
    "--only-binary",
    ":all:",
    "--target",
    target,
  ];
  const selection = ["--python-platform", platform, "--python-version", python];
  const env = { UV_CACHE_DIR: join(cache, "uv"), UV_LINK_MODE: "copy" };
  await must(uv, [...args, ...selection, "-r", join(root, "requirements", "runtime.txt")], { env });
}

/** Installs debugpy without its compiled parts, for any Python; its helper for threads exists for x64 only. */
export async function makeDebugger(python, target, folder) {
  const args = ["-m", "pip", "install", "--quiet", "--require-hashes", "--no-deps", "--no-compile"];
  const pure = ["--only-binary", ":all:", "--implementation", "py", "--abi", "none"];
  const destination = ["--platform", "any", "--target", folder];
  const lock = join(root, "requirements", "worker.txt");
  await retry("debugpy", () => must(python, [...args, ...pure, ...destination, "-r", lock]));
  rmSync(join(folder, "bin"), { recursive: true, force: true });
  for (const file of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (
      /\.(pdb|dll|exe|pyd|dylib|lib|c|cpp|h|pyx|pxd)$/.test(file.name) ||
      (target !== "linux-x64" && file.name.endsWith("_amd64.so"))
    )
      rmSync(join(file.parentPath, file.name));
}

/** The installed packages: name and version, files, and whether any Python can use them. */
function packagesIn(target) {
  const infos = readdirSync(target).filter((name) => name.endsWith(".dist-info"));
  return infos.map((info) => {
    const tags = readFileSync(join(target, info, "WHEEL"), "utf8").match(/^Tag: .*$/gm);
    const record = readFileSync(join(target, info, "RECORD"), "utf8")
      .trim()
      .split("\n");
    const files = record.map((line) => line.replace(/,[^,]*,[^,]*$/, "").replace(/^"|"$/g, ""));
    return {
      id: info,
      files: files.filter(isNeeded),
      forAny: tags.every((tag) => /py3-none|-abi3-/.test(tag)),
    };
  });
}

/** py-spy is the only program that we use; bytecode and sources of compiled modules aren't needed. */
function isNeeded(file) {
  return (
    !/\.(pyc|pyx|pxd|c|h)$/.test(file) && (!/(^|\/)bin\//.test(file) || file.endsWith("/py-spy"))
  );
}

function move(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to);
}
