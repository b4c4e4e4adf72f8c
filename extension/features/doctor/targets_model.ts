/** What is diagnosed: from the row of a view, or chosen from all that has logs. */

import { basename } from "node:path";

import { plain } from "../../common/texts";
import type { Row } from "../../panel";
import type { Run } from "../runs/messages";
import { runName } from "../runs/worker_names";
import type { DiagnosisTarget } from "./messages";

/** A target with the name that the user knows it by. */
export interface NamedLogs {
  readonly name: string;
  readonly target: DiagnosisTarget;
}

/** The target of the first row that has one. */
export function logsOfRows(rows: readonly Row[]): NamedLogs | undefined {
  const [run] = rows.flatMap((row) => ("run" in row ? [row.run] : []));
  return run === undefined ? undefined : logsOfRun(run);
}

export function logsOfRun(run: Run): NamedLogs {
  return { name: runName(run), target: { run_id: run.id } };
}

export function logsOfPaths(paths: readonly string[]): NamedLogs {
  const [first = ""] = paths;
  return { name: plain(basename(first) || first), target: { paths } };
}
