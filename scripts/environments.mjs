// The Python environments for development: each is made from one lock file, and made again when that changes.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

import { cache, root, venv } from "./paths.mjs";
import { must, retry, run } from "./run.mjs";

const UV = "0.13.9";
const TORCH = "torch==2.13.0";
// Not compiled, half of everything: libraries in Ray that neither it nor our programs import, tools that are machine
// code already, and pygments, of which only a failing test reads a file.
const NOT_COMPILED = [
  "ray/(data|llm|rllib|serve|train|tune)",
  "mypy",
  "mypyc",
  "pygments/(lexers|styles)",
];

/**
 * The environments by name; `python` is the version one needs, where not every version from 3.10 on will do.
 * An `optional` one is skipped with a message where that version is missing.
 */
export const environments = {
  dev: { folder: venv, lock: "dev.txt", editable: true, notCompiled: NOT_COMPILED },
  "old-ray": {
    folder: join(cache, "old-ray"),
    lock: "old-ray.txt",
    python: "3.11",
    notCompiled: NOT_COMPILED,
  },
  proofs: {
    folder: join(cache, "proofs"),
    lock: "proofs.txt",
    python: "3.11",
    pip: [TORCH],
    // Ten times as large as the rest, while a program reads only the few files that it imports.
    notCompiled: [
      "torch",
      "transformers",
      "sympy",
      "mpmath",
      "networkx",
      "pandas",
      "scipy",
      "ray/(llm|serve)",
    ],
    imports: ["ray.train.torch", "ray.rllib.algorithms.ppo", "torch._dynamo"],
  },
  // An inference server and the client of agents (tests/engine).
  engine: { folder: join(cache, "engine"), lock: "engine.txt", python: "3.11" },
  nvim: { folder: join(cache, "nvim"), lock: "nvim.txt" },
  ...Object.fromEntries(["3.12", "3.13"].map((python) => [`worker-${python}`, worker(python)])),
};

/** For Python 3.12 and later, where debugpy traces in another way; each version has its own bytecode. */
function worker(python) {
  return { folder: join(cache, `worker-${python}`), lock: "worker.txt", python, optional: true };
}

/** The interpreter of an environment, which may not exist yet. */
export function interpreter(name) {
  return join(environments[name].folder, "bin", "python");
}

/** Makes the environment `name` unless it exists; returns its interpreter, undefined where it was skipped. */
export async function makeEnvironment(name, log = console.log) {
  const environment = environments[name];
  const mark = fingerprint(environment);
  const isDone = (stamp) => existsSync(stamp) && readFileSync(stamp, "utf8") === mark;
  const installed = join(environment.folder, ".eagleray-made-from");
  const compiled = join(environment.folder, ".eagleray-compiled");
  if (!isDone(installed)) {
    if (!(await install(name, environment, installed, log))) return undefined;
    writeFileSync(installed, mark);
  }
  if (!isDone(compiled)) {
    const program = "import sysconfig; print(sysconfig.get_path('purelib'))";
    const folder = (await must(interpreter(name), ["-I", "-c", program])).trim();
    await compile(name, folder, environment);
    writeFileSync(compiled, mark);
  }
  if (environment.editable) await compile(name, join(root, "pybackend"));
  return interpreter(name);
}

/**
 * Compiles the libraries to bytecode, which uv leaves to each process: where Python may not write it
 * (PYTHONDONTWRITEBYTECODE), every process of Ray would compile a thousand files again.  Files for another Python fail,
 * and nothing imports them; the tests of libraries, a quarter of all files, aren't imported either.
 */
async function compile(name, folder, { notCompiled = [], imports = [] } = {}) {
  const excluded = `/site-packages/(.*/tests|${["pip", ...notCompiled].join("|")})/`;
  await run(interpreter(name), ["-m", "compileall", "-qq", "-j", "0", "-x", excluded, folder]);
  if (imports.length === 0) return;
  const env = { PYTHONDONTWRITEBYTECODE: undefined };
  await run(interpreter(name), ["-c", `import ${imports.join(", ")}`], { env });
}

/** Installs the packages of its lock file; false where the Python of an optional environment is missing. */
async function install(name, environment, stamp, log) {
  const { uv, python } = await bootstrap(log);
  const base =
    environment.python === undefined ? python : await pythonOf(environment.python, python);
  if (base === undefined && environment.optional) {
    log(`no Python ${environment.python} on this machine: tests that need it are skipped`);
    return false;
  }
  if (base === undefined)
    throw new Error(`${name} needs Python ${environment.python} on the PATH.`);
  log(`making the Python environment ${name}`);
  rmSync(stamp, { force: true });
  // Links into the shared cache work only on the same file system; copies always do.
  const env = {
    UV_CACHE_DIR: join(cache, "uv"),
    UV_LINK_MODE: "copy",
    UV_PYTHON_DOWNLOADS: "never",
  };
  await must(uv, ["venv", "--clear", "--quiet", "--python", base, environment.folder], { env });
  const lock = join(root, "requirements", environment.lock);
  const target = ["--python", interpreter(name)];
  await retry(
    `installing ${environment.lock}`,
    () => must(uv, ["pip", "sync", "--quiet", "--require-hashes", ...target, lock], { env }),
    log,
  );
  for (const requirement of environment.pip ?? []) {
    // With pip instead of uv: only pip is configured with this machine's index of torch builds.
    await retry(
      `installing ${requirement}`,
      () =>
        must(interpreter(name), ["-m", "pip", "install", "--quiet", "--no-compile", requirement]),
      log,
    );
  }
  if (environment.editable) {
    await must(
      uv,
      [
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        ...target,
        "--editable",
        root,
      ],
      { env },
    );
  }
  return true;
}

function fingerprint({ lock, pip = [] }) {
  const hash = createHash("sha256").update(readFileSync(join(root, "requirements", lock)));
  return hash.update(pip.join(" ")).digest("hex");
}

let bootstrapped;

/** The pinned uv in an environment of its own, and the Python that made it. */
export function bootstrap(log = console.log) {
  bootstrapped ??= makeBootstrap(log);
  return bootstrapped;
}

async function makeBootstrap(log) {
  const folder = join(cache, `uv-${UV}`);
  const uv = join(folder, "bin", "uv");
  const python = await findPython();
  if (!existsSync(join(folder, ".complete"))) {
    log(`installing uv ${UV}`);
    mkdirSync(cache, { recursive: true });
    await must(python, ["-m", "venv", "--clear", folder]);
    await retry(
      "installing uv",
      () => must(join(folder, "bin", "pip"), ["install", "--quiet", `uv==${UV}`]),
      log,
    );
    writeFileSync(join(folder, ".complete"), "");
  }
  return { uv, python };
}

/** The first Python from 3.10 to 3.14 that really starts; 3.11 first, since every suite runs on it. */
async function findPython() {
  const names = ["python3.11", "python3.12", "python3.13", "python3", "python3.10", "python3.14"];
  for (const name of [process.env.EAGLERAY_DEV_PYTHON, ...names]) {
    const python = name && (await asPython(name));
    if (python && python.minor >= 10 && python.minor <= 14) return python.executable;
  }
  throw new Error(
    "No Python 3.10 to 3.14 is on the PATH. Install one, or name it in EAGLERAY_DEV_PYTHON.",
  );
}

async function pythonOf(version, first) {
  const names = [first, `python${version}`, process.env.EAGLERAY_DEV_PYTHON];
  for (const name of [...names, ...pythonsOfPyenv(version)]) {
    const python = name && (await asPython(name));
    if (python && `3.${python.minor}` === version) return python.executable;
  }
  return undefined;
}

/** Pythons installed by pyenv, whose commands on PATH start only its selected versions. */
function pythonsOfPyenv(version) {
  const folder = join(process.env.PYENV_ROOT ?? join(homedir(), ".pyenv"), "versions");
  if (!existsSync(folder)) return [];
  const versions = readdirSync(folder).filter((name) => name.startsWith(`${version}.`));
  return versions.map((name) => join(folder, name, "bin", "python"));
}

async function asPython(name) {
  const program = "import sys; print(sys.version_info[0], sys.version_info[1], sys.executable)";
  try {
    const { code, output } = await run(name, ["-I", "-c", program]);
    const [major, minor, ...path] = output.trim().split(" ");
    if (code === 0 && major === "3") return { minor: Number(minor), executable: path.join(" ") };
  } catch {
    // Not on PATH.
  }
  return undefined;
}
