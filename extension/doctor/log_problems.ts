/** The lines of a diagnosis in the editor's list of problems. */

import * as vscode from "vscode";

import type { Cause, Diagnosis, LogEvidence } from "./messages";

const SOURCE = "Eagleray";
const LONGEST_LINE = 1000;

const SEVERITIES: Readonly<Record<Cause["severity"], vscode.DiagnosticSeverity>> = {
  error: vscode.DiagnosticSeverity.Error,
  warning: vscode.DiagnosticSeverity.Warning,
  info: vscode.DiagnosticSeverity.Information,
};

/** The lines of causes by the path of their file; a check of a node has no line. */
export function problemsOfCauses(causes: readonly Cause[]): Map<string, vscode.Diagnostic[]> {
  const problems = new Map<string, vscode.Diagnostic[]>();
  for (const cause of causes) {
    for (const item of cause.evidence.filter(({ line }) => line > 0)) {
      add(problems, item, ofCause(cause, item));
    }
  }
  return problems;
}

/** Problems by the path of their file: what only follows from a cause is information. */
export function problemsOf(diagnosis: Diagnosis): ReadonlyMap<string, vscode.Diagnostic[]> {
  const problems = problemsOfCauses(diagnosis.causes);
  for (const item of diagnosis.unknown) {
    const severity = vscode.DiagnosticSeverity.Warning;
    add(problems, item, problem(item, item.text, severity));
  }
  return problems;
}

function add(
  problems: Map<string, vscode.Diagnostic[]>,
  { path }: LogEvidence,
  made: vscode.Diagnostic,
): void {
  problems.set(path, [...(problems.get(path) ?? []), made]);
}

function ofCause(cause: Cause, item: LogEvidence): vscode.Diagnostic {
  const severity = cause.secondary
    ? vscode.DiagnosticSeverity.Information
    : SEVERITIES[cause.severity];
  const text =
    cause.fix === "" || cause.fix.endsWith("?")
      ? `${cause.sentence} ${cause.fix}`.trim()
      : vscode.l10n.t("{0} Fix: {1}", cause.sentence, cause.fix);
  const made = problem(item, text, severity);
  made.code = cause.id;
  return made;
}

function problem(
  { line, text }: LogEvidence,
  message: string,
  severity: vscode.DiagnosticSeverity,
): vscode.Diagnostic {
  const at = Math.max(line - 1, 0);
  const range = new vscode.Range(at, 0, at, Math.min(text.length, LONGEST_LINE));
  const made = new vscode.Diagnostic(range, message, severity);
  made.source = SOURCE;
  return made;
}
