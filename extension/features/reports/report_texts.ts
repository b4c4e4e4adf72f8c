/** The texts of the page of a report, which the editor translates: the page itself knows no language. */

import * as vscode from "vscode";

/** `{0}` is filled in by the page. */
export type ReportTexts = ReturnType<typeof reportTexts>;

// The inferred type is the list of the texts.
// eslint-disable-next-line @typescript-eslint/explicit-function-return-type
export function reportTexts() {
  return {
    reading: vscode.l10n.t("Reading the Report"),
    cancel: vscode.l10n.t("Cancel"),
    notShown: vscode.l10n.t("This Report Is Not Shown"),
    readAgain: vscode.l10n.t("Read It Again"),
    openInNsight: vscode.l10n.t("Open in Nsight Systems"),
    copyMarkdown: vscode.l10n.t("Copy as Markdown"),
    copyCsv: vscode.l10n.t("Copy as CSV"),
    copyPath: vscode.l10n.t("Copy Path"),
    reveal: vscode.l10n.t("Reveal File"),
    showLog: vscode.l10n.t("Show Log"),
    warning: vscode.l10n.t("Warning"),
    warnings: vscode.l10n.t("Warnings"),
    nothing: vscode.l10n.t(
      "Nothing was recorded. Record longer, or trace what the program does: cuda, nvtx, osrt.",
    ),
    tables: vscode.l10n.t("Tables"),
    search: vscode.l10n.t("Search"),
    searchIn: vscode.l10n.t("Search in {0}"),
    noRow: vscode.l10n.t("No row has this text in it."),
    showMore: vscode.l10n.t("Show {0} More of {1}"),
    recording: vscode.l10n.t("Recording"),
    host: vscode.l10n.t("Host"),
    recorded: vscode.l10n.t("Recorded"),
    duration: vscode.l10n.t("Duration"),
    traced: vscode.l10n.t("Traced"),
    schema: vscode.l10n.t("Schema"),
    size: vscode.l10n.t("Size"),
    file: vscode.l10n.t("File"),
    gpu: vscode.l10n.t("GPU {0}"),
    namedGpu: vscode.l10n.t("GPU {0} ({1})"),
    noKernel: vscode.l10n.t("no kernel ran"),
    busy: vscode.l10n.t("busy {0}"),
    busyFor: vscode.l10n.t("busy {0} ({1})"),
    idleFor: vscode.l10n.t("idle {0}"),
    aKernel: vscode.l10n.t("1 kernel"),
    kernels: vscode.l10n.t("{0} kernels"),
    nccl: vscode.l10n.t("NCCL {0} of the busy time ({1})"),
    ncclUnknown: vscode.l10n.t("NCCL unknown"),
    ncclAlone: vscode.l10n.t("NCCL with nothing beside it {0}"),
    curve: vscode.l10n.t("How busy {0} was over time"),
    time: vscode.l10n.t("time"),
    busyAxis: vscode.l10n.t("busy"),
  };
}
