/** The line “Checks before the run”: what they say, and the buttons that make and show them. */

import { filled } from "../../../common/filled";
import type { ChecksNote } from "../options_messages";
import type { PageTexts } from "../options_texts";
import { button, type Part, type View } from "./controls";
import { element } from "./elements";
import type { Acts } from "./sections";

export function checksLine(texts: PageTexts, acts: Acts): Part {
  const text = element("span", { id: "checks-text", role: "status" });
  const run = button(texts.runChecks, () => {
    acts.send("runChecks");
  });
  const show = button(texts.showChecks, () => {
    acts.send("showChecks");
  });
  return {
    root: element(
      "section",
      { id: "checks", "aria-labelledby": "checks-title" },
      element("h2", { id: "checks-title" }, texts.checksSection),
      element("div", { class: "checks" }, text, run, show),
    ),
    refresh: (view) => {
      const { checks } = view.facts;
      const elsewhere = textElsewhere(texts, view);
      const shown = elsewhere || checksText(texts, checks);
      if (text.textContent !== shown) {
        text.textContent = shown;
      }
      text.dataset["state"] = elsewhere === "" ? stateOf(checks) : "";
      run.hidden = elsewhere !== "";
      run.toggleAttribute("disabled", checks.state === "checking");
      run.textContent = checks.state === "unchecked" ? texts.runChecks : texts.runChecksAgain;
      show.hidden = elsewhere !== "" || checks.state !== "checked";
    },
  };
}

/** How the nodes of a SLURM job, of a Ray job's cluster and of another machine are checked, which aren't this one; else "". */
function textElsewhere(texts: PageTexts, { form, preview }: View): string {
  const isSubmitted = preview !== undefined && preview.confirm !== "";
  if (isSubmitted || form.kind === "sbatch") {
    return texts.checksOfSlurm;
  }
  if (form.kind === "job") {
    return texts.checksOfCluster;
  }
  return form.kind === "remote" ? texts.checksOfMachine : "";
}

function stateOf({ state, problems }: ChecksNote): "ok" | "warning" | "error" | "" {
  switch (state) {
    case "checked":
      return problems === 0 ? "ok" : "warning";
    case "failed":
      return "error";
    default:
      return "";
  }
}

function checksText(texts: PageTexts, { state, problems, text }: ChecksNote): string {
  switch (state) {
    case "unchecked":
      return texts.checksUnchecked;
    case "checking":
      return texts.checking;
    case "failed":
      return filled(texts.checksFailed, text);
    case "checked":
      return problems === 0
        ? texts.checksAllFine
        : problems === 1
          ? filled(texts.checksSingle, text)
          : filled(texts.checksSeveral, problems, text);
  }
}
