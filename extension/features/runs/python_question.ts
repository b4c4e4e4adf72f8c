/** Asks which Python runs a program when the selected one has no Ray; another one is kept for the workspace. */

import * as vscode from "vscode";

import { asEaglerayError } from "../../common/errors";
import { plain } from "../../common/texts";
import type { Parts } from "../../parts";
import { changeWorkspaceSetting, setting } from "../../settings";
import { hasPythonExtension } from "../../workspace";
import { PYTHONS, type Plan } from "./messages";
import { programPython } from "./surroundings";

/** `python` "" is the one of the plan; `anyway`: also without Ray. */
export interface Choice {
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
  parts: Parts,
  start: (choice: Choice) => Promise<T>,
): Promise<T | undefined> {
  let choice: Choice | undefined = { python: "", anyway: false };
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
      choice = await ask(parts, sentence, choice);
    }
  }
  return undefined;
}

/** The plan with another interpreter. */
export function planWith(plan: Plan, { python }: Choice): Plan {
  return python === "" ? plan : { ...plan, python, argv: [python, ...plan.argv.slice(1)] };
}

async function ask(parts: Parts, sentence: string, before: Choice): Promise<Choice | undefined> {
  const { paths } = await parts.sidecar.request(PYTHONS, {});
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
async function keep({ python }: Choice): Promise<void> {
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

/** The end of a path says more than its beginning. */
function shortened(path: string): string {
  return path.length > LONGEST_NAME ? `…${path.slice(1 - LONGEST_NAME)}` : path;
}
