/** The texts of the page of a wave, which the editor translates: the page itself knows no language. */

import * as vscode from "vscode";

/** `{0}` is filled in by the page. */
export type WaveTexts = ReturnType<typeof waveTexts>;

// The inferred type is the list of the texts.
// eslint-disable-next-line @typescript-eslint/explicit-function-return-type
export function waveTexts() {
  return {
    cancel: vscode.l10n.t("Cancel"),
    again: vscode.l10n.t("Run Again"),
    starting: vscode.l10n.t("Starting…"),
    ended: vscode.l10n.t("{0} of {1} runs have ended."),
    cancelled: vscode.l10n.t("Cancelled. The runs that have ended are below."),
    figures: vscode.l10n.t("Figures"),
    inFlight: vscode.l10n.t("In flight"),
    inFlightText: vscode.l10n.t("{0} runs, at most {1}; {2} requests, at most {3}"),
    done: vscode.l10n.t("Done"),
    failed: vscode.l10n.t("Failed"),
    tokens: vscode.l10n.t("Tokens/s"),
    latency: vscode.l10n.t("Latency"),
    latencyText: vscode.l10n.t("p50 {0}, p99 {1}, max {2}"),
    lag: vscode.l10n.t("Event loop lag"),
    lagText: vscode.l10n.t("p50 {0}, max {1}"),
    rewards: vscode.l10n.t("Rewards"),
    bar: vscode.l10n.t("{0}: {1}"),
    range: vscode.l10n.t("{0} to {1}"),
    verdicts: vscode.l10n.t("Verdicts"),
    noVerdict: vscode.l10n.t("Nothing slows this wave down."),
    contract: vscode.l10n.t("Contract"),
    holds: vscode.l10n.t("holds"),
    broken: vscode.l10n.t("broken"),
    runs: vscode.l10n.t("Failed and slow runs"),
    item: vscode.l10n.t("Item"),
    outcome: vscode.l10n.t("Outcome"),
    seconds: vscode.l10n.t("Seconds"),
    reward: vscode.l10n.t("Reward"),
    problem: vscode.l10n.t("Problem"),
    line: vscode.l10n.t("Line"),
    actions: vscode.l10n.t("Actions"),
    trace: vscode.l10n.t("Open Trace"),
    debug: vscode.l10n.t("Debug This Item"),
    outcomes: {
      done: vscode.l10n.t("done"),
      rejected: vscode.l10n.t("rejected"),
      failed: vscode.l10n.t("failed"),
      timeout: vscode.l10n.t("time-out"),
      cancelled: vscode.l10n.t("cancelled"),
    } as Readonly<Record<string, string>>,
  };
}
