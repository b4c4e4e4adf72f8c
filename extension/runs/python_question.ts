/** The question which Python to use when the one of a program has no Ray, or not the version of its cluster. */

import * as vscode from "vscode";

import type { App } from "../app";
import { asEaglerayError } from "../common/errors";
import { plain } from "../common/texts";
import { setContextKey } from "../settings";
import { askForPython, clusterPythons, keepPython, type ProgramPlace } from "./interpreters";
import type { StartEvents } from "./nsys_question";

/** `python` "" is the one of the plan; `anyway`: without a check of it. */
export interface PythonChoice {
  readonly python: string;
  readonly anyway: boolean;
}

/** The errors that another Python solves; the start reports them, before anything runs. */
export const PYTHON_ERRORS = ["no-ray", "other-python"];
const SELECT = vscode.l10n.t("Select Interpreter…");
const ANYWAY = vscode.l10n.t("Run Anyway");
const CLUSTER = vscode.l10n.t("Use the Cluster's Python");
const LONGEST_NAME = 60;

/**
 * Starts with the Python of the plan.  Where that cannot run the program: with one that the user chooses, or all the
 * same; undefined when the user closes the message.
 */
export async function withRay<T>(
  app: App,
  place: ProgramPlace,
  start: (choice: PythonChoice) => Promise<T>,
  events?: StartEvents,
): Promise<T | undefined> {
  let choice: PythonChoice | undefined = { python: "", anyway: false };
  while (choice !== undefined) {
    try {
      const started = await start(choice);
      await keepPython(app, choice.python, place);
      if (!choice.anyway) {
        setContextKey("eagleray.pythonHasRay", true);
      }
      return started;
    } catch (error) {
      const { code, message } = asEaglerayError(error);
      if (!PYTHON_ERRORS.includes(code)) {
        throw error;
      }
      events?.asking(plain(message, 600));
      try {
        choice = await ask(app, place, message, choice);
      } finally {
        events?.asking("");
      }
    }
  }
  return undefined;
}

async function ask(
  app: App,
  place: ProgramPlace,
  message: string,
  before: PythonChoice,
): Promise<PythonChoice | undefined> {
  const ofClusters = clusterButtons(await clusterPythons(app));
  const buttons = [SELECT, ...ofClusters.keys(), ANYWAY];
  const answer = await vscode.window.showErrorMessage(plain(message, 600), ...buttons);
  if (answer === ANYWAY) {
    return { ...before, anyway: true };
  }
  const python = answer === SELECT ? await askForPython(app, place) : ofClusters.get(answer ?? "");
  return python === undefined ? undefined : { python, anyway: false };
}

/** A path only where clusters have different Pythons. */
function clusterButtons(paths: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    paths.map((path) => [paths.length === 1 ? CLUSTER : `${CLUSTER}: ${shortened(path)}`, path]),
  );
}

/** Keeps the end of a long path, which is more specific. */
function shortened(path: string): string {
  return path.length > LONGEST_NAME ? `…${path.slice(1 - LONGEST_NAME)}` : path;
}
