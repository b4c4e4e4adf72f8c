// Printed from pybackend/eagleray/doctor/messages.py by `npm run messages`; do not edit.
import { request } from "../common/wire";

export const DIAGNOSE = request<DiagnosisTarget, Diagnosis>("eagleray/doctor/diagnose");
export const FIRST_PROBLEM = request<FollowedRun, FirstProblem>("eagleray/doctor/firstProblem");
export const FIRST_CLUSTER_PROBLEM = request<ClusterLogs, FirstProblem>("eagleray/doctor/firstClusterProblem");

/**
 * A run by its ID, whose output is followed until its first problem; causes that were `reported`, by their IDs, don't
 * count any more.  `rule_folders` are as in a DiagnosisTarget.
 */
export interface FollowedRun {
  readonly id: string;
  readonly reported?: readonly string[];
  readonly rule_folders?: readonly string[];
}

/**
 * A cluster by its ID, whose logs are followed; causes that were `reported`, by their IDs, don't count any more.
 *
 * `rule_folders` are as in a DiagnosisTarget.
 */
export interface ClusterLogs {
  readonly cluster: string;
  readonly reported?: readonly string[];
  readonly rule_folders?: readonly string[];
}

/** The first cause of trouble in the output of a run or a cluster; None for a run that has ended without one. */
export interface FirstProblem {
  readonly cause: Cause | null;
}

/**
 * A setting of a run that a fix changes: its name and new value.
 *
 * An override is added to the command as `name=value`, or as `--name value` if it begins with hyphens.  `framework` is
 * the one that has it, "" for any.
 */
export interface SettingChange {
  readonly where: "environment" | "override" | "preset";
  readonly name: string;
  readonly value: string;
  readonly framework: string;
}

/**
 * The target of a diagnosis: log files and folders of this machine, the output of a run by its ID, or all nodes of a
 * cluster (its ID or address) or of a job of SLURM, with logs as far as they can be read.
 *
 * `before`: only nodes are checked, for a program that isn't started yet: the cluster's nodes, and this machine, whose
 * facts `python` reads, the program's interpreter; "" is the one on the path.  `command` is what starts the program.
 *
 * `rule_folders` are folders of a workspace that the user trusts: rules of a team in them count, too.
 */
export interface DiagnosisTarget {
  readonly paths?: readonly string[];
  readonly run_id?: string;
  readonly cluster?: string;
  readonly slurm_job?: string;
  readonly before?: boolean;
  readonly python?: string;
  readonly command?: readonly string[];
  readonly rule_folders?: readonly string[];
}

/**
 * A line of a log, without secrets and control characters: `line` is its number from 1, `time` in seconds since 1970.
 *
 * `worker` is as Ray prefixes it ("WorkerDict pid=29197"), `node` its address; `repeats` counts what Ray has folded.
 * `rank` is None where no line says it.
 */
export interface LogEvidence {
  readonly path: string;
  readonly line: number;
  readonly text: string;
  readonly time: number | null;
  readonly node: string;
  readonly worker: string;
  readonly repeats: number;
  readonly rank: number | null;
}

/**
 * The matches of a rule: the earliest lines of each file first, of `count` lines in `files` files.
 *
 * `secondary`: it follows from an earlier cause.
 */
export interface Cause {
  readonly id: string;
  readonly fix: string;
  readonly source: string;
  readonly severity: "error" | "warning" | "info";
  readonly why: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly changes: readonly SettingChange[];
  readonly command: string;
  readonly sentence: string;
  readonly evidence: readonly LogEvidence[];
  readonly secondary: boolean;
  readonly count: number;
  readonly files: number;
}

/** A file that was not read, and why. */
export interface UncheckedFile {
  readonly path: string;
  readonly reason: string;
}

/** The input that was read: number of files and bytes, the rules, and files that were not read. */
export interface Checked {
  readonly files: number;
  readonly bytes: number;
  readonly rules: number;
  readonly unchecked: readonly UncheckedFile[];
}

/**
 * The earliest cause first; `unknown` are errors that no rule explains, the named one first.
 *
 * `raised` says of the exception that is the first error where it was raised, on which condition, and what it advises.
 */
export interface Diagnosis {
  readonly sentence: string;
  readonly causes: readonly Cause[];
  readonly unknown: readonly LogEvidence[];
  readonly checked: Checked;
  readonly raised: string;
}
