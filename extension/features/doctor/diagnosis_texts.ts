/** The texts of the page of a diagnosis, which the editor translates: the page itself knows no language. */

import * as vscode from "vscode";

/** `{0}` is filled in by the page. */
export type DiagnosisTexts = ReturnType<typeof diagnosisTexts>;

// The inferred type is the list of the texts.
// eslint-disable-next-line @typescript-eslint/explicit-function-return-type
export function diagnosisTexts() {
  return {
    again: vscode.l10n.t("Diagnose Again"),
    reading: vscode.l10n.t("Reading…"),
    watch: vscode.l10n.t("Watch for Problems"),
    unwatch: vscode.l10n.t("Stop Watching"),
    fix: vscode.l10n.t("Fix"),
    applyFix: vscode.l10n.t("Fix…"),
    changes: vscode.l10n.t("Opens the options of the run with: {0}"),
    why: vscode.l10n.t("Why others follow"),
    whySecondary: vscode.l10n.t("Why it follows"),
    copy: vscode.l10n.t("Copy"),
    copyFix: vscode.l10n.t("Copy Fix"),
    copySetting: vscode.l10n.t("Copy the setting of {0}"),
    copyCommand: vscode.l10n.t("Copy Command"),
    source: vscode.l10n.t("Source of the rule: {0}"),
    counts: vscode.l10n.t("Lines: {0}, files: {1}"),
    rank: vscode.l10n.t("rank {0}"),
    secondary: vscode.l10n.t("These follow from it ({0})"),
    unknown: vscode.l10n.t("Errors that no rule explains ({0})"),
    checkedFile: vscode.l10n.t("Checked {0} file ({1} MB) with {2} rules"),
    checked: vscode.l10n.t("Checked {0} files ({1} MB) with {2} rules"),
    unchecked: vscode.l10n.t("Not checked ({0})"),
  };
}
