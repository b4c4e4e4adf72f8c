/** The Python of a program, and the question which one to use when the selected one has no Ray. */

import { existsSync } from "node:fs";
import { join } from "node:path";

import * as vscode from "vscode";

import type { App } from "../../app";
import { asEaglerayError } from "../../common/errors";
import { plain } from "../../common/texts";
import { changeWorkspaceSetting, setting } from "../../settings";
import { activeEnvironment, hasPythonExtension, workspaceFolder } from "../../workspace";
import { PYTHONS } from "./messages";

/** `python` "" is the one of the plan; `anyway`: also without Ray. */
interface PythonChoice {
  readonly python: string;
  readonly anyway: boolean;
}

const SELECT = "Select Interpreter…";
const ANYWAY = "Run Anyway";
const CLUSTER = "Use the Cluster’s Python: ";
const LONGEST_NAME = 60;

/**
 * Starts with the Python of the plan.  Where that has no Ray: with one that the user chooses, or all the same;
 * undefined when the user closes the message.
 */
export async function withRay<T>(
  app: App,
  start: (choice: PythonChoice) => Promise<T>,
): Promise<T | undefined> {
  let choice: PythonChoice | undefined = { python: "", anyway: false };
  while (choice !== undefined) {
    try {
      const started = await start(choice);
      await keep(choice);
      return started;
    } catch (error) {
      const { code, sentence } = asEaglerayError(error);
      if (code !== "no-ray") {
        throw error;
      }
      choice = await ask(app, sentence, choice);
    }
  }
  return undefined;
}

async function ask(
  app: App,
  sentence: string,
  before: PythonChoice,
): Promise<PythonChoice | undefined> {
  const { paths } = await app.sidecar.request(PYTHONS, {});
  const ofClusters = new Map(paths.map((path) => [CLUSTER + shortened(path), path]));
  const buttons = [...ofClusters.keys(), SELECT, ANYWAY];
  const answer = await vscode.window.showErrorMessage(plain(sentence, 600), ...buttons);
  if (answer === ANYWAY) {
    return { ...before, anyway: true };
  }
  const python = answer === SELECT ? await selected() : ofClusters.get(answer ?? "");
  return python === undefined ? undefined : { python, anyway: false };
}

/** Stores the choice for the next start. */
async function keep({ python }: PythonChoice): Promise<void> {
  if (python !== "" && python !== (await programPython())) {
    await changeWorkspaceSetting("runs.python", python);
  }
}

/** 1. In the Python extension, unless the setting overrides that choice.  2. A file. */
async function selected(): Promise<string | undefined> {
  if (hasPythonExtension() && setting("runs.python").trim() === "") {
    await vscode.commands.executeCommand("python.setInterpreter");
    return (await programPython()) || undefined;
  }
  const title = "Select the Python of your Ray program";
  const chosen = await vscode.window.showOpenDialog({ title, openLabel: "Select" });
  return chosen?.[0]?.fsPath;
}

/** Keeps the end of a long path, which is more specific. */
function shortened(path: string): string {
  return path.length > LONGEST_NAME ? `…${path.slice(1 - LONGEST_NAME)}` : path;
}

/** The setting, else what the Python extension has chosen, else the `.venv` of the folder, else "": that of the PATH. */
export async function programPython(): Promise<string> {
  const named = setting("runs.python").trim();
  return named || ((await activeEnvironment()) ?? venvOf(workspaceFolder()));
}

function venvOf(folder: string): string {
  const python = join(folder, ".venv", "bin", "python");
  return folder !== "" && existsSync(python) ? python : "";
}
