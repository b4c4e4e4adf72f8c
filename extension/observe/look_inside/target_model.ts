/** Which process “Look Inside” is about: from a row, from the argument of another feature, or from what the user typed. */

import { l10n } from "vscode";

import { dotted, plain } from "../../common/texts";
import type { Row } from "../../rows";
import type { Run, RunWorkerStatus } from "../../runs/messages";
import type { LiveWorker } from "../../debug/workers/messages";
import { workerName } from "../../debug/workers/names";
import type { InspectionTarget } from "./messages";

/** A process that can be inspected, and the run whose worker it is. */
export interface Inspectable {
  readonly target: InspectionTarget;
  readonly run: string;
}

export interface InspectionChoice {
  readonly label: string;
  readonly description: string;
  readonly inspectable: Inspectable;
}

/** The processes of rows, those without a process left out. */
export function inspectablesOf(rows: readonly Row[]): readonly Inspectable[] {
  return rows.flatMap((row): readonly Inspectable[] => {
    switch (row.row) {
      case "anyWorker":
        return ofWorker(row.worker);
      case "runWorker":
        return ofRun(row.run, row.worker);
      default:
        return [];
    }
  });
}

export function ofWorker(worker: LiveWorker): readonly Inspectable[] {
  const { cluster, node_id, worker_id, pid } = worker;
  const name = plain(workerName(worker));
  return pid > 0 ? [{ target: { cluster, node_id, worker_id, pid, name }, run: "" }] : [];
}

/** A batch job's process without a cluster is on a node that only SLURM knows. */
export function ofRun(run: Run, worker: RunWorkerStatus): readonly Inspectable[] {
  const { cluster } = run;
  const { worker_id, pid } = worker;
  if (pid <= 0 || (cluster === "" && (run.kind === "sbatch" || run.kind === "job"))) {
    return [];
  }
  const name = plain(worker.name) || l10n.t("process {0}", pid);
  return [{ target: { cluster, worker_id, pid, name, pausable: true }, run: run.id }];
}

/** The argument of another feature or extension: `{cluster, node, pid, rank, name}`, of which only `pid` is needed. */
export function ofArgument(argument: unknown): Inspectable | undefined {
  if (typeof argument !== "object" || argument === null || "row" in argument) {
    return undefined;
  }
  const { cluster, node, pid, rank, name } = argument as Partial<Record<string, unknown>>;
  if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid <= 0) {
    return undefined;
  }
  const process = l10n.t("process {0}", pid);
  const hasRank = typeof rank === "number" || text(rank) !== "";
  const byRank = hasRank ? l10n.t("rank {0}", String(rank)) : process;
  return {
    target: {
      pid,
      cluster: text(cluster),
      node_id: text(node),
      name: plain(text(name) || byRank),
    },
    run: "",
  };
}

/** The PID that the user typed; undefined for anything else. */
export function typedPid(typed: string): number | undefined {
  return /^\s*[1-9]\d{0,9}\s*$/.test(typed) ? Number(typed) : undefined;
}

/** Workers for the picker, workers of runs first; a worker that both lists have is offered once. */
export function choicesOf(
  runs: readonly Run[],
  live: readonly LiveWorker[],
): readonly InspectionChoice[] {
  const ofRuns = runs.flatMap((run) =>
    run.workers.flatMap((worker) =>
      ofRun(run, worker).map((inspectable) =>
        choice(inspectable, plain(run.name), l10n.t("process {0}", worker.pid)),
      ),
    ),
  );
  const listed = new Set(ofRuns.map(({ inspectable }) => inspectable.target.worker_id));
  const others = live
    .filter(({ worker_id, kind }) => !listed.has(worker_id) && kind !== "idle")
    .flatMap((worker) =>
      ofWorker(worker).map((inspectable) =>
        choice(inspectable, plain(worker.node_ip), l10n.t("process {0}", worker.pid)),
      ),
    );
  return [...ofRuns, ...others];
}

/** The name of the session in the call stack. */
export function sessionName(name: string): string {
  return l10n.t("{0} (looking inside)", plain(name));
}

export function keyOf({ target }: Inspectable): string {
  return `${target.cluster ?? ""} ${target.node_id ?? ""} ${target.pid}`;
}

function choice(inspectable: Inspectable, ...description: readonly string[]): InspectionChoice {
  return {
    label: inspectable.target.name ?? "",
    description: dotted(...description),
    inspectable,
  };
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
