/** The line “Checks before the run”: what they say, and the buttons that make and show them. */

import { l10n } from "../../../page/frame/l10n";
import type { ChecksNote } from "../options_messages";

import { button, type Part, type View } from "./controls";
import { element } from "../../../page/frame/elements";
import type { Acts } from "./sections";

export function checksLine(acts: Acts): Part {
  const text = element("span", { id: "checks-text", role: "status" });
  const run = button(l10n.t("Check"), () => {
    acts.send("runChecks");
  });
  const show = button(l10n.t("Show Result"), () => {
    acts.send("showChecks");
  });
  return {
    root: element(
      "section",
      { id: "checks", "aria-labelledby": "checks-title" },
      element("h2", { id: "checks-title" }, l10n.t("Checks before the run")),
      element("div", { class: "checks" }, text, run, show),
    ),
    refresh: (view) => {
      const { checks } = view.facts;
      const elsewhere = textElsewhere(view);
      const shown = elsewhere || checksText(checks);
      if (text.textContent !== shown) {
        text.textContent = shown;
      }
      text.dataset["state"] = elsewhere === "" ? stateOf(checks) : "";
      run.hidden = elsewhere !== "";
      run.toggleAttribute("disabled", checks.state === "checking");
      run.textContent = checks.state === "unchecked" ? l10n.t("Check") : l10n.t("Check Again");
      show.hidden = elsewhere !== "" || checks.state !== "checked";
    },
  };
}

/** How the nodes of a SLURM job, of a Ray job's cluster and of another machine are checked, which aren't this one; else "". */
function textElsewhere({ form, preview }: View): string {
  const isSubmitted = preview !== undefined && preview.confirm !== "";
  if (isSubmitted || form.kind === "sbatch") {
    return l10n.t("SLURM selects the nodes. Diagnose the job once it runs.");
  }
  if (form.kind === "job") {
    return l10n.t("The job runs on its cluster. Diagnose the cluster to check its nodes.");
  }
  return form.kind === "remote"
    ? l10n.t("Another machine runs it. Open a remote window there to check it.")
    : "";
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

function checksText({ state, problems, text }: ChecksNote): string {
  switch (state) {
    case "unchecked":
      return l10n.t("Not checked");
    case "checking":
      return l10n.t("Checking…");
    case "failed":
      return l10n.t("Couldn't check: {0}", text);
    case "checked":
      return problems === 0
        ? l10n.t("All fine")
        : problems === 1
          ? l10n.t("1 warning: {0}", text)
          : l10n.t("{0} warnings. The first: {1}", problems, text);
  }
}
