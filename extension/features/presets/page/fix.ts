/** The section above the program: what a fix has changed, until the user undoes it. */

import { filled } from "../../../common/filled";
import type { PageFix } from "../options_messages";
import type { PageTexts } from "../options_texts";
import { button, type Part } from "./controls";
import { element } from "./elements";
import type { Acts } from "./sections";

export function fixSection(
  texts: PageTexts,
  acts: Acts,
  { differences, undo }: PageFix,
  undone: () => void,
): Part {
  const rows = differences.map(({ name, before, after }) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, name),
      element("td", {}, filled(texts.changedTo, before ?? texts.notSet, after)),
    ),
  );
  const script = element("p", { class: "hint" }, texts.fixScript);
  const { args, env, answers } = undo;
  return {
    root: element(
      "section",
      { "aria-labelledby": "fix" },
      element("h2", { id: "fix" }, texts.fix),
      element("p", { class: "hint" }, texts.fixNote),
      element("table", {}, element("tbody", {}, ...rows)),
      script,
      element(
        "div",
        { class: "buttons" },
        button(texts.undoFix, () => {
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
