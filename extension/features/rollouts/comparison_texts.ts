/** The texts of the page of a comparison, which the editor translates: the page itself knows no language. */

import * as vscode from "vscode";

/** `{0}` is filled in by the page. */
export type ComparisonTexts = ReturnType<typeof comparisonTexts>;

// The inferred type is the list of the texts.
// eslint-disable-next-line @typescript-eslint/explicit-function-return-type
export function comparisonTexts() {
  return {
    sure: vscode.l10n.t("{0} % sure"),
    save: vscode.l10n.t("Save…"),
    copyMarkdown: vscode.l10n.t("Copy as Markdown"),
    again: vscode.l10n.t("Compare Again"),
    comparing: vscode.l10n.t("Comparing…"),
    rollouts: vscode.l10n.t("A, rollouts"),
    trainer: vscode.l10n.t("B, trainer"),
    data: vscode.l10n.t("Prompts"),
    readings: vscode.l10n.t("Readings"),
    reading: vscode.l10n.t("{0}, {1} %"),
    figures: vscode.l10n.t("Figures"),
    tokens: vscode.l10n.t("Tokens"),
    meanDlogp: vscode.l10n.t("Mean |Δlogp|"),
    maxDlogp: vscode.l10n.t("Largest |Δlogp|"),
    meanDp: vscode.l10n.t("Mean |Δp|"),
    kl: vscode.l10n.t("KL"),
    k3: vscode.l10n.t("k3-KL"),
    multError: vscode.l10n.t("Multiplicative error"),
    pearson: vscode.l10n.t("Pearson correlation"),
    ratios: vscode.l10n.t("Importance ratios"),
    ratio: vscode.l10n.t("{0} % outside 0.8 to 1.25, largest {1}; a cap of 2 clips {2} %"),
    quarters: vscode.l10n.t("By quarter of the completion: {0}"),
    steps: vscode.l10n.t("Training steps"),
    step: vscode.l10n.t("Step {0}: {1} % outside 0.8 to 1.25, largest {2}"),
    samePrompts: vscode.l10n.t("{0} of {1} have the same token ids"),
    promptDifference: vscode.l10n.t("Prompt {0}, token {1}: A {2}, B {3}"),
    greedy: vscode.l10n.t("Greedy tokens"),
    sameGreedy: vscode.l10n.t("{0} of {1} sequences agree; near ties: {2}"),
    divergence: vscode.l10n.t("Sequence {0}, token {1}: A {2}, B {3}, margin {4}"),
    heatMap: vscode.l10n.t("Differences"),
    largestFirst: vscode.l10n.t("Each row is a sequence; the largest differences come first."),
    someSequences: vscode.l10n.t("{0} of {1} sequences"),
    showAll: vscode.l10n.t("Show {0} Sequences"),
    sequence: vscode.l10n.t("Sequence {0}"),
    cell: vscode.l10n.t("Sequence {0}, token {1}: Δlogp {2}"),
    cellOf: vscode.l10n.t("Sequence {0}, tokens {1} to {2}: Δlogp {4} at {3}"),
    diverged: vscode.l10n.t("B would choose another token"),
    selectCell: vscode.l10n.t("Select a cell for its numbers."),
    worst: vscode.l10n.t("Worst Tokens"),
    columns: {
      sequence: vscode.l10n.t("Sequence"),
      position: vscode.l10n.t("Token"),
      text: vscode.l10n.t("Text"),
      id: vscode.l10n.t("Id"),
      a: vscode.l10n.t("A"),
      b: vscode.l10n.t("B"),
      delta: vscode.l10n.t("Δlogp"),
    },
    notes: vscode.l10n.t("Notes"),
  };
}
