/** Names for what the sidecar sends as short words. */

import { l10n } from "../../../page/frame/l10n";
import type { Change } from "../messages";
import type { Mistake, OptionsForm } from "../options_model";
import { secondsOf } from "../../profile_options";

export const KINDS = {
  "": l10n.t("Auto-detect"),
  program: l10n.t("Python file"),
  module: l10n.t("Python module"),
  script: l10n.t("Shell script"),
  command: l10n.t("Command"),
  sbatch: l10n.t("SLURM batch script"),
  job: l10n.t("Ray job"),
  remote: l10n.t("Program on another machine"),
};

export const WHENS = {
  "on-demand": l10n.t("On demand, with Start Recording"),
  seconds: l10n.t("Some seconds from the start"),
  steps: l10n.t("Steps of the training"),
  always: l10n.t("From start to end"),
};

export const TRACES = {
  cuda: l10n.t("CUDA kernels, copies and calls; needs a GPU"),
  nvtx: l10n.t("Ranges that the program names"),
  osrt: l10n.t("Waiting calls of the operating system"),
  cudnn: l10n.t("Calls of cuDNN"),
  cublas: l10n.t("Calls of cuBLAS"),
  ucx: l10n.t("Calls of UCX"),
} as Readonly<Record<string, string>>;

export const MISTAKES = {
  openQuote: l10n.t("Unclosed quote"),
  noCommand: l10n.t("Enter a command."),
  noProgram: l10n.t("Enter a file or a module."),
  badRanks: l10n.t("Enter numbers or ranges, for example 0, 2-5."),
  badVariable: l10n.t("Enter NAME=value, one per line."),
  badNumber: l10n.t("Enter a valid number."),
  noRecordWorkers: l10n.t("Choose the workers to record."),
  badSteps: l10n.t("Enter a step or a range, for example 3 or 3:5."),
  badSeconds: l10n.t("Enter a number of seconds."),
  noTrace: l10n.t("Select at least one."),
  badNsys: l10n.t("Enter a full path or a name."),
  badNsysOption: l10n.t("Enter options such as --sample=none."),
} satisfies Record<Mistake, string>;

export const OUTCOMES = {
  "will apply": l10n.t("Applies"),
  "set, effect not verified": l10n.t("Set, effect not verified"),
  "already so": l10n.t("Already so"),
  "not changed": l10n.t("Not changed"),
  "no such option": l10n.t("Not available"),
  "unknown version": l10n.t("Unknown version"),
  "no framework": l10n.t("No framework"),
} satisfies Record<Change["outcome"], string>;

/** "*Policy* · 10 s from the start", beside the heading of the section; "" where nothing is recorded. */
export function recordNote({ record, recordWorkers, when, seconds }: OptionsForm): string {
  const isTimed = when === "seconds" && secondsOf(seconds) !== undefined;
  const moment = isTimed ? l10n.t("{0} s from the start", seconds.trim()) : WHENS[when];
  return record ? [recordWorkers.trim(), moment].filter(Boolean).join(" · ") : "";
}
