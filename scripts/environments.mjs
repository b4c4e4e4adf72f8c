// The Python environments of developing: each is made from one lock file, and made anew when it changes.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

import { cache, root, venv } from "./places.mjs";
import { must, retry, run } from "./run.mjs";

const UV = "0.13.9";
const TORCH = "torch==2.13.0";
// Half of what there would be to compile: libraries within Ray that neither it nor our programs import, tools that
// are machine code already, and what a test that fails reads a file of.
const UNREAD = [
  "ray/(data|llm|rllib|serve|train|tune)",
  "mypy",
  "mypyc",
  "pygments/(lexers|styles)",
];

/**
 * What can be asked for; `python` is the version it needs, where not any from 3.10 on will do.
 * One that is `optional` is left out, which is said, where that version is missing.
 */
export const environments = {
  dev: { folder: venv, lock: "dev.txt", editable: true, unread: UNREAD },
  "old-ray": {
    folder: join(cache, "old-ray"),
    lock: "old-ray.txt",
    python: "3.11",
    unread: UNREAD,
  },
  proofs: {
    folder: join(cache, "proofs"),
    lock: "proofs.txt",
    python: "3.11",
    pip: [TORCH],
    // Of these, ten times as large as the rest, a program reads a few files only: those that it would import.
    unread: ["torch", "sympy", "mpmath", "networkx", "pandas", "scipy", "ray/(llm|serve)"],
    imports: ["ray.train.torch", "ray.rllib.algorithms.ppo", "torch._dynamo"],
  },
  nvim: { folder: join(cache, "nvim"), lock: "nvim.txt" },
  ...Object.fromEntries(["3.12", "3.13"].map((python) => [`worker-${python}`, worker(python)])),
};

/** debugpy traces in another way from Python 3.12 on, and code is compiled anew in each version. */
function worker(python) {
  return { folder: join(cache, `worker-${python}`), lock: "worker.txt", python, optional: true };
}

/** The interpreter of an environment, whether it is made yet or not. */
export function interpreter(name) {
  return join(environments[name].folder, "bin", "python");
}

/** Makes the environment `name` unless it is there already; returns its interpreter, if it has one. */
export async function makeEnvironment(name, log = console.log) {
  const wanted = environments[name];
  const mark = fingerprint(wanted);
  const isDone = (stamp) => existsSync(stamp) && readFileSync(stamp, "utf8") === mark;
  const installed = join(wanted.folder, ".eagleray-made-from");
  const compiled = join(wanted.folder, ".eagleray-compiled");
  if (!isDone(installed)) {
    if (!(await install(name, wanted, installed, log))) return undefined;
    writeFileSync(installed, mark);
  }
  if (!isDone(compiled)) {
    const ask = "import sysconfig; print(sysconfig.get_path('purelib'))";
    await compile(name, (await must(interpreter(name), ["-I", "-c", ask])).trim(), wanted);
    writeFileSync(compiled, mark);
  }
  if (wanted.editable) await compile(name, join(root, "pybackend"));
  return interpreter(name);
}

/**
 * uv leaves this to each process: where Python may not write it (PYTHONDONTWRITEBYTECODE), every process of Ray
 * would compile a thousand files anew.  Files that belong to another Python fail, and nobody imports them; nor
 * does anybody import the tests of libraries, a quarter of all.
 */
async function compile(name, folder, { unread = [], imports = [] } = {}) {
  const left = `/site-packages/(.*/tests|${["pip", ...unread].join("|")})/`;
  await run(interpreter(name), ["-m", "compileall", "-qq", "-j", "0", "-x", left, folder]);
  if (imports.length === 0) return;
  const env = { PYTHONDONTWRITEBYTECODE: undefined };
  await run(interpreter(name), ["-c", `import ${imports.join(", ")}`], { env });
}

/** Installs what its lock file names; false where the Python for it is missing and it may be. */
async function install(name, wanted, stamp, log) {
  const { uv, python } = await bootstrap(log);
  const base = wanted.python === undefined ? python : await pythonOf(wanted.python, python);
  if (base === undefined && wanted.optional) {
    log(`no Python ${wanted.python} is here: nothing is tried with it`);
    return false;
  }
  if (base === undefined) throw new Error(`${name} needs Python ${wanted.python} on the PATH.`);
  log(`making the Python environment ${name}`);
  rmSync(stamp, { force: true });
  // Links into the shared cache are made only on the same file system; copies are right always.
  const env = {
    UV_CACHE_DIR: join(cache, "uv"),
    UV_LINK_MODE: "copy",
    UV_PYTHON_DOWNLOADS: "never",
  };
  await must(uv, ["venv", "--clear", "--quiet", "--python", base, wanted.folder], { env });
  const lock = join(root, "requirements", wanted.lock);
  const target = ["--python", interpreter(name)];
  await retry(
    `installing ${wanted.lock}`,
    () => must(uv, ["pip", "sync", "--quiet", "--require-hashes", ...target, lock], { env }),
    log,
  );
  for (const requirement of wanted.pip ?? []) {
    // By pip and not by uv: only pip knows where this machine keeps its builds of torch.
    await retry(
      `installing ${requirement}`,
      () =>
        must(interpreter(name), ["-m", "pip", "install", "--quiet", "--no-compile", requirement]),
      log,
    );
  }
  if (wanted.editable) {
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

/** The pinned uv in an environment of its own, and the Python that it was made with. */
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
    const found = name && (await asPython(name));
    if (found && found.minor >= 10 && found.minor <= 14) return found.executable;
  }
  throw new Error(
    "No Python 3.10 to 3.14 is on the PATH. Install one, or name it in EAGLERAY_DEV_PYTHON.",
  );
}

async function pythonOf(version, first) {
  const names = [first, `python${version}`, process.env.EAGLERAY_DEV_PYTHON];
  for (const name of [...names, ...pythonsOfPyenv(version)]) {
    const found = name && (await asPython(name));
    if (found && `3.${found.minor}` === version) return found.executable;
  }
  return undefined;
}

/** Those that pyenv keeps: on the PATH it puts names that start only the versions chosen in it. */
function pythonsOfPyenv(version) {
  const folder = join(process.env.PYENV_ROOT ?? join(homedir(), ".pyenv"), "versions");
  if (!existsSync(folder)) return [];
  const versions = readdirSync(folder).filter((name) => name.startsWith(`${version}.`));
  return versions.map((name) => join(folder, name, "bin", "python"));
}

async function asPython(name) {
  const ask = "import sys; print(sys.version_info[0], sys.version_info[1], sys.executable)";
  try {
    const { code, output } = await run(name, ["-I", "-c", ask]);
    const [major, minor, ...path] = output.trim().split(" ");
    if (code === 0 && major === "3") return { minor: Number(minor), executable: path.join(" ") };
  } catch {
    // Not on the PATH: the next name is tried.
  }
  return undefined;
}
