// Printed from pybackend/eagleray/runs/model.py by `npm run messages`; do not edit.
import { l10n } from "../../../page/frame/l10n";

/** The texts of the fields. */
export const OPTION_TEXTS = {
  workers: {
    label: l10n.t("Break in"),
    hint: l10n.t("Class, actor or function names, e.g. *Policy*, train_*. Leave empty for all."),
    example: l10n.t("all workers"),
  },
  ranks: {
    label: l10n.t("Ranks"),
    hint: l10n.t("For example 0, 2-3. Leave empty for all."),
    example: l10n.t("all"),
  },
  breakOnFailure: {
    label: l10n.t("Break on uncaught exceptions"),
    hint: "",
    example: "",
  },
  children: {
    label: l10n.t("Debug subprocesses"),
    hint: "",
    example: "",
  },
  watchMinutes: {
    label: l10n.t("Save all stacks after"),
    hint: l10n.t("Minutes without output, at most 5: NCCL gives up after 10. Empty: never."),
    example: "",
  },
};
