/** Names for what the sidecar sends as short words. */

import { l10n } from "../../../page/frame/l10n";

export const OUTCOMES = {
  done: l10n.t("done"),
  rejected: l10n.t("rejected"),
  failed: l10n.t("failed"),
  timeout: l10n.t("time-out"),
  cancelled: l10n.t("cancelled"),
} as Readonly<Record<string, string>>;
