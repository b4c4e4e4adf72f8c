/** The section above the program: what a fix has changed, until the user undoes it. */

import { l10n } from "../../../page/frame/l10n";
import type { PageFix } from "../options_messages";

import { button, type Part } from "./controls";
import { element } from "../../../page/frame/elements";
import type { Acts } from "./sections";

export function fixSection(acts: Acts, { differences, undo }: PageFix, undone: () => void): Part {
  const rows = differences.map(({ name, before, after }) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, name),
      element("td", {}, l10n.t("{0} → {1}", before ?? l10n.t("not set"), after)),
    ),
  );
  const script = element("p", { class: "hint" }, l10n.t("The script must pass its arguments on."));
  const { args, env, answers } = undo;
  return {
    root: element(
      "section",
      { "aria-labelledby": "fix" },
      element("h2", { id: "fix" }, l10n.t("Changed by the Fix")),
      element("p", { class: "hint" }, l10n.t("Nothing has been started. Check the command below.")),
      element("table", {}, element("tbody", {}, ...rows)),
      script,
      element(
        "div",
        { class: "buttons" },
        button(l10n.t("Undo Fix"), () => {
          acts.change({ args, env, answers });
          undone();
        }),
      ),
    ),
    refresh: ({ form }) => {
      const isScript =
        ["script", "sbatch"].includes(form.kind) || /\.(sh|slurm|sbatch)$/u.test(form.path);
      script.hidden = !isScript || form.args === undo.args;
    },
  };
}
