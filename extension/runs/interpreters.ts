/** The Pythons of programs on this machine: which one runs a program, and the list in which the user selects another. */

import { access, constants, readdir, readFile, stat } from "node:fs/promises";
import * as os from "node:os";
import * as path from "node:path";

import * as vscode from "vscode";

import type { App } from "../app";
import { dotted } from "../common/texts";
import { pickOrType, type PickRow } from "../typed_picker";
import { understoodPath } from "../typed_paths";
import { changeWorkspaceSetting, setContextKey, setting } from "../settings";
import { activeEnvironment, hasPythonExtension, workspaceFolder } from "../workspace";
import { PYTHONS } from "./messages";
import {
  allProgramPythons,
  findProgramPython,
  type ProgramPython,
  type PythonSource,
  type PythonSurroundings,
} from "./program_python";

/** Where a program lies and starts. */
export interface ProgramPlace {
  /** A file, or the name of a module; "" for a whole command. */
  readonly path: string;
  readonly cwd: string;
  /** The Python that its configuration names, which the setting does not change. */
  readonly python?: string;
}

/** The Python of a program, with its source. */
export async function programPython(app: App, place: ProgramPlace): Promise<ProgramPython> {
  const folder = folderOf(place);
  return await findProgramPython(surroundings(app, folder), folder);
}

/** The key of the state of the editor. */
const SELECTED = "eagleray.selectedPythons";
/** In place of a folder: the last selection, for folders that have no Python. */
const LAST = "";

/** The name of each source in lists. */
const SOURCES: Readonly<Record<PythonSource | "cluster" | "run", string>> = {
  selected: vscode.l10n.t("selected for this folder"),
  setting: vscode.l10n.t("setting eagleray.runs.python"),
  "Python extension": vscode.l10n.t("selected in the Python extension"),
  folder: vscode.l10n.t("environment of this folder"),
  "uv project": vscode.l10n.t("uv project"),
  "environment.yml": "environment.yml",
  VIRTUAL_ENV: vscode.l10n.t("active virtual environment"),
  CONDA_PREFIX: vscode.l10n.t("active conda environment"),
  "last selected": vscode.l10n.t("selected last"),
  PATH: "PATH",
  cluster: vscode.l10n.t("used by a Ray cluster on this machine"),
  run: vscode.l10n.t("last run"),
};

type PythonRow = PickRow<string | typeof BROWSE>;

/** Leads to the dialog of the editor. */
const BROWSE = Symbol("browse");

/** Lets the user select the Python of a program and keeps it for the next start; undefined when the user cancels. */
export async function selectProgramPython(
  app: App,
  place: ProgramPlace,
): Promise<string | undefined> {
  const python = await askForPython(app, place);
  await keepPython(app, python ?? "", place);
  if (python !== undefined) {
    setContextKey("eagleray.pythonHasRay", (await environmentOf(python)).ray !== "");
  }
  return python;
}

/**
 * The Python that the user selects; undefined when the user cancels.
 *
 * 1. In the Python extension, unless the setting or an earlier selection overrides that choice.
 * 2. From a list, in which each Python shows the Ray that is installed in it.
 */
export async function askForPython(app: App, place: ProgramPlace): Promise<string | undefined> {
  const folder = folderOf(place);
  const { source } = await programPython(app, place);
  if (hasPythonExtension() && source !== "selected" && source !== "setting") {
    await vscode.commands.executeCommand("python.setInterpreter");
    return (await programPython(app, place)).path || undefined;
  }
  const pythons = await allProgramPythons(surroundings(app, folder), folder);
  return await picked(await listed(app, pythons), pythons[0]);
}

async function picked(
  rows: readonly PythonRow[],
  current: ProgramPython | undefined,
): Promise<string | undefined> {
  const browse = {
    label: vscode.l10n.t("$(folder) Browse…"),
    alwaysShow: true,
    value: BROWSE,
  } as const;
  const chosen = await pickOrType<string | typeof BROWSE>({
    title: SELECT_PYTHON,
    placeholder: vscode.l10n.t(
      "Select, or paste a path. Current: {0}",
      shownPath(current?.path || "python"),
    ),
    rows: () => [...rows, browse],
    understood: (text) => understoodPath(text, "program", (python) => python, environmentText),
  });
  return chosen === BROWSE ? await browsed() : chosen;
}

/** The Pythons of the last runs, then those that apply, the clusters' and the PATH's; each once. */
async function listed(app: App, pythons: readonly ProgramPython[]): Promise<readonly PythonRow[]> {
  const sources = new Map<string, string>();
  const all: readonly (readonly [readonly string[], string])[] = [
    [await lastPythons(app), SOURCES.run],
    ...pythons.map(({ path, source }) => [[path], SOURCES[source]] as const),
    [await clusterPythons(app), SOURCES.cluster],
    [await pythonsOnPath(), SOURCES.PATH],
  ];
  for (const [paths, source] of all) {
    for (const python of paths.filter((python) => !sources.has(python))) {
      sources.set(python, source);
    }
  }
  return await Promise.all(
    [...sources].map(async ([python, source]) => ({
      label: shownPath(python),
      description: dotted(await environmentText(python), source),
      value: python,
    })),
  );
}

/** The Pythons with which this machine's last runs were started, the last one first, as far as they still exist. */
async function lastPythons(app: App): Promise<readonly string[]> {
  const runs = await app.latestRuns().catch(() => []);
  const pythons = new Set(runs.map(({ python }) => python).filter((it) => path.isAbsolute(it)));
  const first = [...pythons].slice(0, MOST_LAST);
  const areUsable = await Promise.all(first.map(isExecutable));
  return first.filter((_, at) => areUsable[at]);
}

const MOST_LAST = 5;

/**
 * Keeps the choice for the next start, unless it is the Python that is used anyway: as a setting of the workspace, or
 * for the folder of the program where there is none, since a setting of the user would apply to every project.
 */
export async function keepPython(app: App, python: string, place: ProgramPlace): Promise<void> {
  if (python === "" || place.python || python === (await programPython(app, place)).path) {
    return;
  }
  if (hasWorkspace()) {
    await changeWorkspaceSetting("runs.python", python);
  } else {
    const selected = { ...selectedPythons(app), [folderOf(place)]: python, [LAST]: python };
    await app.context.globalState.update(SELECTED, selected);
  }
}

/** By folder; of windows without a workspace. */
function selectedPythons(app: App): Readonly<Record<string, string>> {
  return app.context.globalState.get<Readonly<Record<string, string>>>(SELECTED) ?? {};
}

function hasWorkspace(): boolean {
  return vscode.workspace.workspaceFolders !== undefined;
}

/** The Pythons of this user's clusters on this machine. */
export async function clusterPythons(app: App): Promise<readonly string[]> {
  return (await app.sidecar.request(PYTHONS, {})).paths;
}

const SELECT_PYTHON = vscode.l10n.t("Select the Python of your Ray programs");

async function browsed(): Promise<string | undefined> {
  const dialog = { title: SELECT_PYTHON, openLabel: vscode.l10n.t("Select") };
  return (await vscode.window.showOpenDialog(dialog))?.[0]?.fsPath;
}

/** The folder of the file, else the one in which the program starts. */
function folderOf({ path: file, cwd }: ProgramPlace): string {
  return path.isAbsolute(file) ? path.dirname(file) : cwd || workspaceFolder();
}

function surroundings(app: App, folder: string): PythonSurroundings {
  const workspace = folder === "" ? undefined : workspaceOf(folder);
  return {
    selected: hasWorkspace() ? "" : (selectedPythons(app)[folder] ?? ""),
    lastSelected: hasWorkspace() ? "" : (selectedPythons(app)[LAST] ?? ""),
    setting: setting("runs.python"),
    environ: process.env,
    home: os.homedir(),
    workspace: workspace ?? "",
    activeEnvironment: () => activeEnvironment(folder || undefined),
    isExecutable,
    exists: async (file) => (await status(file)) !== undefined,
    isOwn: async (file) => (await status(file))?.uid === process.getuid?.(),
    text: async (file) => {
      const small = ((await status(file))?.size ?? Infinity) <= LARGEST_TEXT;
      return small ? await readFile(file, "utf8").catch(() => "") : "";
    },
  };
}

/** An environment.yml is far smaller. */
const LARGEST_TEXT = 2 ** 20;

function workspaceOf(folder: string): string | undefined {
  return vscode.workspace.getWorkspaceFolder(vscode.Uri.file(folder))?.uri.fsPath;
}

async function status(file: string): Promise<{ uid: number; size: number } | undefined> {
  return await stat(file).catch(() => undefined);
}

async function isExecutable(file: string): Promise<boolean> {
  return await access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** The first of each name, as a shell would find them. */
async function pythonsOnPath(): Promise<readonly string[]> {
  const folders = (process.env["PATH"] ?? "")
    .split(path.delimiter)
    .filter((folder) => path.isAbsolute(folder));
  const files = ["python", "python3"].map(async (name) => {
    for (const folder of folders) {
      const file = path.join(folder, name);
      if (await isExecutable(file)) {
        return [file];
      }
    }
    return [];
  });
  return (await Promise.all(files)).flat();
}

/** The version of a Python and of its Ray, "" for what is not known or not installed. */
interface Environment {
  readonly version: string;
  readonly ray: string;
  /** Whether packages outside of the environment belong to it, too. */
  readonly isShared: boolean;
}

/** Read from the files of the environment, so that nothing is started for a list. */
async function environmentOf(python: string): Promise<Environment> {
  const prefix = path.dirname(path.dirname(python));
  const configuration = await readFile(path.join(prefix, "pyvenv.cfg"), "utf8").catch(() => "");
  const exact = /^version(?:_info)?\s*=\s*(\d+\.\d+\.\d+)/m.exec(configuration)?.[1];
  const isShared = /^include-system-site-packages\s*=\s*true/im.test(configuration);
  const folders = (await names(path.join(prefix, "lib"))).filter((it) => PYTHON_FOLDER.test(it));
  for (const folder of folders) {
    const packages = await names(path.join(prefix, "lib", folder, "site-packages"));
    const ray = packages.map((name) => /^ray-([\w.]+)\.dist-info$/.exec(name)?.[1]).find(Boolean);
    if (ray !== undefined) {
      return { version: exact ?? folder.slice("python".length), ray, isShared };
    }
  }
  // A Python outside an environment may have its packages elsewhere.
  return { version: exact ?? "", ray: "", isShared };
}

const PYTHON_FOLDER = /^python3\.\d+$/;

/** "3.11.7 · Ray 2.60.0", "3.11.7 · no Ray"; "" where nothing is known. */
async function environmentText(python: string): Promise<string> {
  const { version, ray, isShared } = await environmentOf(python);
  const noRay = version === "" || isShared ? "" : vscode.l10n.t("no Ray");
  return dotted(version, ray === "" ? noRay : vscode.l10n.t("Ray {0}", ray));
}

async function names(folder: string): Promise<readonly string[]> {
  return await readdir(folder).catch(() => []);
}

function shownPath(file: string): string {
  const home = `${os.homedir()}${path.sep}`;
  return file.startsWith(home) ? `~${path.sep}${file.slice(home.length)}` : file;
}
