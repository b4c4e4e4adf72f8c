/** Finds the Python of a program as the user's other tools do, and the alternatives to it. */

import * as path from "node:path";

/** Everything that the search reads; tests replace it. */
export interface PythonSurroundings {
  /** The user's selection for the folder in a window without a workspace; "" without a selection. */
  readonly selected: string;
  /** The user's last selection in such a window, for any folder; "" without one. */
  readonly lastSelected: string;
  /** `eagleray.runs.python`. */
  readonly setting: string;
  readonly environ: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** The workspace folder of the program; "" for a program outside of all. */
  readonly workspace: string;
  /** The Python that is selected in the Python extension for the program's folder; undefined without that extension. */
  activeEnvironment(): Promise<string | undefined>;
  /** Whether this user may execute a file. */
  isExecutable(file: string): Promise<boolean>;
  exists(file: string): Promise<boolean>;
  /** Whether a file exists and belongs to this user. */
  isOwn(file: string): Promise<boolean>;
  /** The text of a small file; "" if it cannot be read. */
  text(file: string): Promise<string>;
}

export interface ProgramPython {
  /** "" for the first `python` of the PATH. */
  readonly path: string;
  /** The rule that applied. */
  readonly source: PythonSource;
}

export type PythonSource =
  | "selected"
  | "setting"
  | "Python extension"
  | "folder"
  | "uv project"
  | "environment.yml"
  | "VIRTUAL_ENV"
  | "CONDA_PREFIX"
  | "last selected"
  | "PATH";

/** The names that venv, uv and conda give an environment inside a project. */
const FOLDERS = [".venv", "venv", "env", ".conda"];
const CONDA_FILES = ["environment.yml", "environment.yaml"];
const FROM_PATH: ProgramPython = { path: "", source: "PATH" };

/** The first Python that applies to a program in `folder`. */
export async function findProgramPython(
  around: PythonSurroundings,
  folder: string,
): Promise<ProgramPython> {
  for await (const python of candidates(around, folder)) {
    return python;
  }
  return FROM_PATH;
}

/** All that apply, the first one first and each path once. */
export async function allProgramPythons(
  around: PythonSurroundings,
  folder: string,
): Promise<readonly ProgramPython[]> {
  const pythons = new Map<string, ProgramPython>();
  for await (const python of candidates(around, folder)) {
    if (!pythons.has(python.path)) {
      pythons.set(python.path, python);
    }
  }
  return [...pythons.values()];
}

/**
 * 1. The Python that the user selected for the folder, where no workspace stores the setting.
 * 2. The setting `eagleray.runs.python`: a file or the folder of an environment, `~` and `${workspaceFolder}` allowed.
 * 3. The environment that the Python extension has selected for the folder.
 * 4. `.venv`, `venv`, `env` or `.conda` in the folder of the program, then in each folder above it up to the workspace.
 * 5. UV_PROJECT_ENVIRONMENT, and the environment of the uv project that contains the workspace.
 * 6. The conda environment that an environment.yml of these folders names.
 * 7. The environment in which the editor was started: VIRTUAL_ENV, then CONDA_PREFIX.
 * 8. The Python that the user selected last, where no workspace stores the setting.
 *
 * After these, the PATH.
 */
async function* candidates(
  around: PythonSurroundings,
  folder: string,
): AsyncGenerator<ProgramPython> {
  if (around.selected !== "") {
    yield { path: around.selected, source: "selected" };
  }
  const named = expanded(around, around.setting.trim());
  if (named !== "") {
    // A mistake in the setting is reported by the start, not hidden by another Python.
    yield { path: (await pythonIn(around, named)) ?? named, source: "setting" };
  }
  const active = await around.activeEnvironment();
  if (active !== undefined && active !== "") {
    yield { path: active, source: "Python extension" };
  }
  const folders = upTo(folder, around.workspace);
  yield* inFolders(around, folders);
  yield* ofUv(around, folders.at(-1) ?? "");
  yield* ofCondaFile(around, folders);
  for (const source of ["VIRTUAL_ENV", "CONDA_PREFIX"] as const) {
    const prefix = around.environ[source] ?? "";
    const python = path.isAbsolute(prefix) ? await pythonIn(around, prefix) : undefined;
    if (python !== undefined) {
      yield { path: python, source };
    }
  }
  if (around.lastSelected !== "" && (await around.isExecutable(around.lastSelected))) {
    yield { path: around.lastSelected, source: "last selected" };
  }
}

async function* inFolders(
  around: PythonSurroundings,
  folders: readonly string[],
): AsyncGenerator<ProgramPython> {
  for (const folder of folders) {
    for (const name of FOLDERS) {
      const python = await environmentPython(around, path.join(folder, name));
      if (python !== undefined) {
        yield { path: python, source: "folder" };
      }
    }
  }
}

/** uv looks for its project in the folders above; one that another user owns is ignored. */
async function* ofUv(around: PythonSurroundings, top: string): AsyncGenerator<ProgramPython> {
  const named = around.environ["UV_PROJECT_ENVIRONMENT"] ?? "";
  for (const project of top === "" ? [] : above(top)) {
    if (!(await around.isOwn(path.join(project, "uv.lock")))) {
      continue;
    }
    const python = await environmentPython(around, path.resolve(project, named || ".venv"));
    if (python !== undefined) {
      yield { path: python, source: "uv project" };
    }
    return;
  }
}

async function* ofCondaFile(
  around: PythonSurroundings,
  folders: readonly string[],
): AsyncGenerator<ProgramPython> {
  for (const folder of folders) {
    for (const file of CONDA_FILES) {
      const name = condaName(await around.text(path.join(folder, file)));
      for (const prefix of name === "" ? [] : await condaPrefixes(around, name)) {
        const python = await environmentPython(around, prefix);
        if (python !== undefined) {
          yield { path: python, source: "environment.yml" };
        }
      }
    }
  }
}

/** The name of the environment that an environment.yml describes; "" without one. */
export function condaName(text: string): string {
  return /^name:\s*["']?([\w.-]+)["']?\s*(?:#.*)?$/m.exec(text)?.[1] ?? "";
}

/** conda lists every environment of a user in a file of the home. */
async function condaPrefixes(around: PythonSurroundings, name: string): Promise<string[]> {
  const listed = await around.text(path.join(around.home, ".conda", "environments.txt"));
  return listed
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((prefix) => path.isAbsolute(prefix) && path.basename(prefix) === name);
}

/** The Python of a virtual or conda environment; a folder that only has the name of one has none. */
async function environmentPython(
  around: PythonSurroundings,
  prefix: string,
): Promise<string | undefined> {
  const marks = ["pyvenv.cfg", "conda-meta"].map((name) => around.exists(path.join(prefix, name)));
  return (await Promise.all(marks)).includes(true) ? pythonIn(around, prefix) : undefined;
}

async function pythonIn(around: PythonSurroundings, prefix: string): Promise<string | undefined> {
  const python = path.join(prefix, "bin", "python");
  return (await around.isExecutable(python)) ? python : undefined;
}

function expanded({ home, workspace }: PythonSurroundings, written: string): string {
  const file = written.replaceAll("${workspaceFolder}", workspace);
  return file === "~" || file.startsWith("~/") ? path.join(home, file.slice(1)) : file;
}

/** `folder` and those above it, up to the workspace; only `folder` if that is not in the workspace. */
function upTo(folder: string, workspace: string): string[] {
  if (folder === "") {
    return workspace === "" ? [] : [workspace];
  }
  const relative = path.relative(workspace, folder);
  const isInside =
    workspace !== "" && relative.split(path.sep)[0] !== ".." && !path.isAbsolute(relative);
  const folders = [folder];
  for (let at = folder; isInside && at !== workspace; folders.push(at)) {
    at = path.dirname(at);
  }
  return folders;
}

/** A folder and all above it. */
function above(folder: string): string[] {
  const parent = path.dirname(folder);
  return parent === folder ? [folder] : [folder, ...above(parent)];
}
