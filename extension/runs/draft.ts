/** The draft of a run: what the user wants to start, before it is prepared. */

import { dirname } from "node:path";

import * as vscode from "vscode";

import { EaglerayError } from "../common/errors";
import { setting } from "../settings";
import { NO_OPTIONS, requestedOptions, type OptionValues } from "./option_values";
import type { Breakpoint, ProfilePlan, RunRequest } from "./messages";

export type RunKind = NonNullable<RunRequest["kind"]>;

/** A profile with all its fields. */
export type Profile = Required<ProfilePlan>;

/** The fields of the form and of launch.json; "" and null leave the choice to Eagleray. */
export interface Draft extends OptionValues {
  /** A file, or the name of a module; "" when `args` is a whole command. */
  readonly path: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly kind: RunKind;
  readonly cluster: string;
  readonly env: Readonly<Record<string, string>>;
  /** "" for the preset that fits, "none" for none. */
  readonly preset: string;
  /** The answers to the questions of the preset, by their ids. */
  readonly answers: Readonly<Record<string, string>>;
  readonly python: string;
  /** False for “Run Without Debugging”: no worker stops, and the run belongs to no window. */
  readonly stops: boolean;
  /** The recording of nsys; null: none. */
  readonly profile: Profile | null;
}

/** The name for no preset. */
export const NO_PRESET = "none";

export const PLAIN: Draft = {
  ...NO_OPTIONS,
  path: "",
  args: [],
  cwd: "",
  kind: "",
  cluster: "",
  env: {},
  preset: NO_PRESET,
  answers: {},
  python: "",
  stops: true,
  profile: null,
};

/** The request for a draft with the breakpoints of the gutter and the variables of the chosen server; one that is profiled stops nowhere, which would be measured. */
export function prepareOf(
  draft: Draft,
  workspace: string,
  breakpoints: readonly Breakpoint[],
  serverEnv: Readonly<Record<string, string>> | null,
): RunRequest {
  const { path, args, cwd, kind, cluster, preset, python, env, answers, profile } = draft;
  const pauses = draft.stops && profile === null;
  return {
    ...{ path, args, cwd, kind, cluster, preset, python, env, answers, profile },
    ...requestedOptions(draft, pauses),
    breakpoints: pauses ? breakpoints : [],
    workspace: draft.stops ? workspace : "",
    server_env: serverEnv,
  };
}

const SUBMITTED: readonly RunKind[] = ["sbatch", "job", "remote"];

/** Whether it may start on this machine; the sidecar knows of a script whether it is one for SLURM. */
export function runsHere({ cluster, kind }: Draft): boolean {
  return cluster === "" && !SUBMITTED.includes(kind);
}

const RUNNABLE = ["python", "shellscript"];

/** The file of the menu, else the one in the editor, as a draft; undefined when neither can be run. */
export function draftOf(args: readonly unknown[]): Draft | undefined {
  const [given] = args;
  const file = given instanceof vscode.Uri ? given : fileInView();
  if (file?.scheme !== "file") {
    return undefined;
  }
  const folder = vscode.workspace.getWorkspaceFolder(file)?.uri.fsPath;
  return { ...emptyDraft(), path: file.fsPath, cwd: folder ?? dirname(file.fsPath) };
}

/** A draft of a command that is still to be typed. */
export function emptyDraft(): Draft {
  const cwd = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
  return { ...PLAIN, cwd, breakOnFailure: setting("runs.breakOnFailure") };
}

export function noProgram(): EaglerayError {
  return new EaglerayError(
    "no-program",
    vscode.l10n.t("No Python file or shell script is open."),
    vscode.l10n.t("Open one, or enter a command in “Debug on Ray with Options…”."),
  );
}

function fileInView(): vscode.Uri | undefined {
  const document = vscode.window.activeTextEditor?.document;
  const isRunnable =
    document !== undefined &&
    (RUNNABLE.includes(document.languageId) || /\.(slurm|sbatch)$/.test(document.uri.path));
  return isRunnable ? document.uri : undefined;
}
