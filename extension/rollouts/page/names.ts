/** Names for what the sidecar sends as short words. */

import { l10n } from "../../page/frame/l10n";

export const FILTERS = {
  "": l10n.t("All"),
  problems: l10n.t("With a problem"),
  truncated: l10n.t("Cut"),
  "zero-advantage": l10n.t("Without advantage"),
  duplicates: l10n.t("Repeated"),
};

export const COLUMNS = {
  item: l10n.t("Item"),
  reward: l10n.t("Reward"),
  tokens: l10n.t("Tokens"),
  versions: l10n.t("Versions"),
  step: l10n.t("Step"),
  prompt: l10n.t("Prompt"),
  completion: l10n.t("Completion"),
  note: l10n.t("Note"),
};

export const FIELD_NAMES = {
  format: l10n.t("Format"),
  group: l10n.t("Group"),
  sample: l10n.t("Sample"),
  step: l10n.t("Step"),
  reward: l10n.t("Reward"),
  tokens: l10n.t("Tokens"),
  promptTokens: l10n.t("Prompt tokens"),
  versions: l10n.t("Versions"),
  problem: l10n.t("Problem"),
};

export const COLOURS = {
  mask: l10n.t("Mask"),
  logprob: l10n.t("Probability"),
  difference: l10n.t("Difference to the trainer"),
  version: l10n.t("Version"),
  advantage: l10n.t("Advantage"),
};
