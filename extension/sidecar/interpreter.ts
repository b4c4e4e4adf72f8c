/** Searches for the Python that runs the sidecar. */

import * as path from "node:path";
import type { Verbatim } from "../common/texts";

/** The properties of a candidate, or why it cannot be used. */
export type ProbeResult =
  { readonly version: string; readonly tag: string } | { readonly unusable: Verbatim };

/** Everything that the search looks at; the real one is in surroundings.ts. */
export interface PythonSearchInput {
  readonly setting: string;
  readonly environ: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly extensionFolder: string;
  /** With their real paths, where those differ. */
  readonly workspaceFolders: readonly string[];
  readonly trusted: boolean;
  /** The Python that is selected in the Python extension, if that is installed and active. */
  activeEnvironment(): Promise<string | undefined>;
  /** The real path of a file that may be executed, or undefined. */
  executable(file: string): Promise<string | undefined>;
  /** The names in a folder, sorted; none when it cannot be read. */
  names(folder: string): Promise<readonly string[]>;
  probe(python: string): Promise<ProbeResult>;
  log(line: string): void;
}

export interface SidecarPython {
  readonly python: string;
  readonly version: string;
  /** `cp311`: which of the bundled libraries are its own. */
  readonly tag: string;
}

interface Candidate {
  readonly rule: Verbatim;
  readonly file: string;
}

/** The newest first: the bundled libraries are there for each of them. */
const NAMES = ["python3.14", "python3.13", "python3.12", "python3.11", "python3.10", "python3"];
const CONDA_FOLDERS = ["miniconda3", "miniforge3", "mambaforge", "anaconda3"];

/**
 * The first of these that can run the sidecar:
 *
 * 1. the setting `eagleray.python`;
 * 2. the .venv beside the extension, which only a checkout of Eagleray has;
 * 3. the active environment: chosen in the Python extension, or VIRTUAL_ENV, or CONDA_PREFIX;
 * 4. the .venv of a workspace folder;
 * 5. python3.14 to python3.10, then python3, in the folders of PATH;
 * 6. conda's base environment in its usual places;
 * 7. the Pythons that uv has installed.
 *
 * In a workspace that is not trusted, no file that lies in it is executed, by whichever rule it was
 * found.  The log has the reason for each candidate that was skipped.
 */
export async function findPython(around: PythonSearchInput): Promise<SidecarPython | undefined> {
  const probedFiles = new Set<string>();
  for await (const { rule, file } of candidates(around)) {
    if (probedFiles.has(file)) {
      continue;
    }
    probedFiles.add(file);
    const probed = await consider(around, file);
    if ("version" in probed) {
      around.log(`Python: ${rule}: ${file}: Python ${probed.version}, taken`);
      return { python: file, version: probed.version, tag: probed.tag };
    }
    around.log(`Python: ${rule}: ${file}: ${probed.unusable}`);
  }
  around.log("Python: no candidate can be used");
  return undefined;
}

async function consider(around: PythonSearchInput, file: string): Promise<ProbeResult> {
  const real = await around.executable(file);
  if (real === undefined) {
    return { unusable: "not there, or not executable" };
  }
  if (!around.trusted && [file, real].some((place) => inWorkspace(around, place))) {
    return { unusable: "lies in a workspace that is not trusted" };
  }
  return around.probe(file);
}

function inWorkspace(around: PythonSearchInput, place: string): boolean {
  return around.workspaceFolders.some((folder) => {
    const relative = path.relative(folder, place);
    const above = relative === ".." || relative.startsWith(`..${path.sep}`);
    return !above && !path.isAbsolute(relative);
  });
}

async function* candidates(around: PythonSearchInput): AsyncGenerator<Candidate> {
  if (around.setting !== "") {
    yield { rule: "1 setting eagleray.python", file: expandHome(around, around.setting) };
  }
  yield { rule: "2 checkout", file: path.join(around.extensionFolder, ".venv/bin/python") };
  yield* activeEnvironments(around);
  for (const folder of around.workspaceFolders) {
    yield { rule: "4 workspace .venv", file: path.join(folder, ".venv/bin/python") };
  }
  yield* onPath(around);
  for (const folder of [
    ...CONDA_FOLDERS.map((name) => path.join(around.home, name)),
    "/opt/conda",
  ]) {
    yield { rule: "6 conda", file: path.join(folder, "bin/python") };
  }
  yield* fromUv(around);
}

async function* activeEnvironments(around: PythonSearchInput): AsyncGenerator<Candidate> {
  const chosen = await around.activeEnvironment();
  if (chosen !== undefined) {
    yield { rule: "3 chosen in the Python extension", file: chosen };
  }
  for (const variable of ["VIRTUAL_ENV", "CONDA_PREFIX"]) {
    const folder = around.environ[variable];
    if (folder !== undefined && path.isAbsolute(folder)) {
      yield { rule: `3 ${variable}`, file: path.join(folder, "bin/python") };
    }
  }
}

/** Relative entries of PATH are left out: they depend on the working directory. */
async function* onPath(around: PythonSearchInput): AsyncGenerator<Candidate> {
  const folders = (around.environ["PATH"] ?? "")
    .split(path.delimiter)
    .filter((folder) => path.isAbsolute(folder));
  for (const name of NAMES) {
    for (const folder of folders) {
      const file = path.join(folder, name);
      if ((await around.executable(file)) !== undefined) {
        yield { rule: "5 PATH", file };
      }
    }
  }
}

async function* fromUv(around: PythonSearchInput): AsyncGenerator<Candidate> {
  const folder =
    around.environ["UV_PYTHON_INSTALL_DIR"] ?? path.join(around.home, ".local/share/uv/python");
  for (const name of [...(await around.names(folder))].reverse()) {
    if (/^cpython-3\.1[0-4]/.test(name)) {
      yield { rule: "7 uv", file: path.join(folder, name, "bin/python3") };
    }
  }
}

function expandHome(around: PythonSearchInput, file: string): string {
  return file.startsWith("~/") ? path.join(around.home, file.slice(2)) : file;
}
