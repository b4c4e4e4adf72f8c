/** The Pythons of programs on this machine: which one runs a program, and the list in which the user selects another. */

import { access, constants, readdir, readFile, stat } from "node:fs/promises";
import * as os from "node:os";
import * as path from "node:path";

import * as vscode from "vscode";

import type { App } from "../app";
import { dotted } from "../common/texts";
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

/** The name of each source in lists. */
const SOURCES: Readonly<Record<PythonSource | "cluster", string>> = {
  selected: vscode.l10n.t("selected for this folder"),
  setting: vscode.l10n.t("setting eagleray.runs.python"),
  "Python extension": vscode.l10n.t("selected in the Python extension"),
  folder: vscode.l10n.t("environment of this folder"),
  "uv project": vscode.l10n.t("uv project"),
  "environment.yml": "environment.yml",
  VIRTUAL_ENV: vscode.l10n.t("active virtual environment"),
  CONDA_PREFIX: vscode.l10n.t("active conda environment"),
  PATH: "PATH",
  cluster: vscode.l10n.t("used by a Ray cluster on this machine"),
};

interface PythonItem extends vscode.QuickPickItem {
  readonly python?: string;
  readonly browse?: true;
}

/** Lets the user select the Python of a program and keeps it for the next start; undefined when the user cancels. */
export async function selectProgramPython(
  app: App,
  place: ProgramPlace,
): Promise<string | undefined> {
  const python = await askForPython(app, place);
  await keepPython(app, python ?? "", place);
  if (python !== undefined) {
    setContextKey("eagleray.pythonHasRay", (await rayText(python)) !== "");
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
  const chosen = await picked(await listed(app, pythons), pythons[0]);
  return chosen?.browse === true ? await browsed() : chosen?.python;
}

async function picked(
  items: readonly PythonItem[],
  current: ProgramPython | undefined,
): Promise<PythonItem | undefined> {
  const browse: PythonItem = { label: vscode.l10n.t("$(folder) Browse…"), browse: true };
  return await vscode.window.showQuickPick([...items, browse], {
    title: vscode.l10n.t("Select the Python of your Ray programs"),
    placeHolder: vscode.l10n.t("Current: {0}", shownPath(current?.path ?? "python")),
    matchOnDescription: true,
  });
}

/** The Pythons that apply, then the clusters', then the PATH's; each once. */
async function listed(app: App, pythons: readonly ProgramPython[]): Promise<readonly PythonItem[]> {
  const sources = new Map<string, string>(pythons.map((it) => [it.path, SOURCES[it.source]]));
  const others: readonly (readonly [readonly string[], string])[] = [
    [await clusterPythons(app), SOURCES.cluster],
    [await pythonsOnPath(), SOURCES.PATH],
  ];
  for (const [paths, source] of others) {
    for (const python of paths.filter((python) => !sources.has(python))) {
      sources.set(python, source);
    }
  }
  return await Promise.all(
    [...sources].map(async ([python, source]) => ({
      label: shownPath(python),
      description: dotted(await rayText(python), source),
      python,
    })),
  );
}

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
    const selected = { ...selectedPythons(app), [folderOf(place)]: python };
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

async function browsed(): Promise<string | undefined> {
  const title = vscode.l10n.t("Select the Python of your Ray programs");
  const openLabel = vscode.l10n.t("Select");
  return (await vscode.window.showOpenDialog({ title, openLabel }))?.[0]?.fsPath;
}

/** The folder of the file, else the one in which the program starts. */
function folderOf({ path: file, cwd }: ProgramPlace): string {
  return path.isAbsolute(file) ? path.dirname(file) : cwd || workspaceFolder();
}

function surroundings(app: App, folder: string): PythonSurroundings {
  const workspace = folder === "" ? undefined : workspaceOf(folder);
  return {
    selected: hasWorkspace() ? "" : (selectedPythons(app)[folder] ?? ""),
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

/** "Ray 2.60.0", read from the files of the environment, so that nothing is started for a list; "" if unknown. */
async function rayText(python: string): Promise<string> {
  const lib = path.join(path.dirname(path.dirname(python)), "lib");
  const versions = (await names(lib)).filter((name) => /^python3\.\d+$/.test(name));
  for (const version of versions) {
    const packages = await names(path.join(lib, version, "site-packages"));
    const ray = packages.map((name) => /^ray-([\w.]+)\.dist-info$/.exec(name)?.[1]).find(Boolean);
    if (ray !== undefined) {
      return `Python ${version.slice("python".length)}, Ray ${ray}`;
    }
  }
  return "";
}

async function names(folder: string): Promise<readonly string[]> {
  return await readdir(folder).catch(() => []);
}

function shownPath(file: string): string {
  const home = `${os.homedir()}${path.sep}`;
  return file.startsWith(home) ? `~${path.sep}${file.slice(home.length)}` : file;
}
