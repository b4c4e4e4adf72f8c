/** The target of a diagnosis: from the row of a view, or chosen from all that has logs. */

import { basename } from "node:path";

import { l10n } from "vscode";

import { plain } from "../common/texts";
import type { NamedTarget } from "../observe/hangs/targets_model";
import type { Run } from "../runs/messages";
import { runName } from "../runs/worker_names";
import type { DiagnosisTarget } from "./messages";

/** A target with the name that the user knows it by. */
export interface NamedLogs {
  readonly name: string;
  readonly target: DiagnosisTarget;
}

/** An item with logs of its own: a run or a cluster; workers have their cluster's. */
export function logsOf({ name, target }: NamedTarget): NamedLogs | undefined {
  const { run_id = "", cluster = "" } = target;
  if (run_id !== "") {
    return { name, target: { run_id } };
  }
  return cluster === "" ? undefined : { name, target: { cluster } };
}

export function logsOfRun(run: Run): NamedLogs {
  return { name: runName(run), target: { run_id: run.id } };
}

/** This machine, checked for a program that isn't started yet; `python` is its interpreter, "" the one on the path. */
export function thisMachine(python = ""): NamedLogs {
  return { name: l10n.t("This machine"), target: { before: true, python } };
}

/** The request of another feature: "machine", or a target with its name, perhaps with its diagnosis. */
export function namedLogs(argument: unknown): NamedLogs | undefined {
  if (argument === "machine") {
    return thisMachine();
  }
  const { name, target } = (argument ?? {}) as Partial<NamedLogs>;
  const isNamed = typeof name === "string" && typeof target === "object";
  return isNamed ? (argument as NamedLogs) : undefined;
}

export function logsOfPaths(paths: readonly string[]): NamedLogs {
  const [first = ""] = paths;
  return { name: plain(basename(first) || first), target: { paths } };
}
