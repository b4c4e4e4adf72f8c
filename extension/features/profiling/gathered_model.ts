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
export function gatheredSentence({ state, gathered, expected, sentence }: ProfiledRun): string {
  const part =
    gathered < expected ? `${gathered} of ${count(expected, "report")}` : count(gathered, "report");
  return state === "gathered"
    ? plain(`${part} gathered. ${gathered < expected ? sentence : ""}`, 600)
    : plain(`The reports were not gathered: ${sentence}`, 600);
}
