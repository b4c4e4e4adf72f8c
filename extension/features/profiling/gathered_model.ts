/** Which runs have their reports here now, and had not before. */

import { count, plain } from "../../common/texts";
import type { ProfiledRun, ProfiledRuns } from "./messages";

/** Those that a change of the list has finished; what was so in the first list is no news. */
export function newlyGathered(before: ProfiledRuns, now: ProfiledRuns): ProfiledRun[] {
  const states = new Map(before.runs.map(({ run, state }) => [run, state]));
  return now.runs.filter(
    ({ run, state }) =>
      (state === "gathered" || state === "failed") && states.has(run) && states.get(run) !== state,
  );
}

/** What one is told of the end of a gathering. */
export function gatheredSentence(run: ProfiledRun): string {
  const { state, gathered, expected, sentence } = run;
  if (state === "failed") {
    return plain(`The reports were not gathered: ${sentence}`, 600);
  }
  if (isEmpty(run)) {
    return plain(`No report was gathered. ${sentence || noReason(run)}`, 600);
  }
  const part =
    gathered < expected ? `${gathered} of ${count(expected, "report")}` : count(gathered, "report");
  return plain(`${part} gathered. ${gathered < expected ? sentence : ""}`, 600);
}

/** Whether there is nothing to be opened, and nothing that could have been fetched. */
export function isEmpty({ gathered, expected }: ProfiledRun): boolean {
  return gathered === 0 && expected === 0;
}

/** Why no report of these is here. */
export function noReportSentence(
  named: readonly { readonly run: string }[],
  { runs }: ProfiledRuns,
): string {
  const run = runs.find((one) => named.some((target) => target.run === one.run));
  const isOver = run?.state === "gathered" || run?.state === "failed";
  const reason = run === undefined ? "" : isOver ? gatheredSentence(run) : run.sentence;
  const hint = "“Record Now” and “Stop Recording” make one; it comes here by itself.";
  return plain(isOver ? reason : `No report is here yet. ${reason || hint}`, 600);
}

function noReason({ workers }: ProfiledRun): string {
  return workers.length === 0 ? "No worker was profiled." : "Nothing was recorded.";
}
