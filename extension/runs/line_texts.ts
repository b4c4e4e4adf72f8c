/** The state of a run's breakpoints, in its row and beside their lines. */

import { l10n } from "vscode";

import { plain } from "../common/texts";
import type { BreakpointStatus, Run, StoredRuns } from "./messages";
import { isLive } from "./states";

/** Notes about the breakpoints in a file that were moved, or where some worker can't stop, by their line. */
export function lineNotes(
  { runs }: StoredRuns,
  path: string,
): readonly { readonly line: number; readonly text: string }[] {
  const notes = runs
    .filter(isLive)
    .flatMap((run) =>
      run.lines
        .filter((line) => line.path === path && hasNote(line))
        .map((line) => [line.line, plain(lineSentence(run, line), 500)] as const),
    );
  // Among several runs of one program the newest counts.
  return [...new Map(notes.reverse())].map(([line, text]) => ({ line, text }));
}

/** Whether workers stop elsewhere, or some of them nowhere; the state of a file that isn't loaded yet says nothing. */
function hasNote({ state, reason }: BreakpointStatus): boolean {
  return state === "moved" || state === "unreachable" || (state === "verified" && reason !== "");
}

/** The state of a breakpoint; the sidecar's reason where there is one. */
export function lineSentence(run: Run, line: BreakpointStatus): string {
  if (line.reason !== "") {
    return line.reason;
  }
  switch (line.state) {
    case "moved":
      return l10n.t("moved to line {0}", line.moved_to);
    case "unreachable":
      return l10n.t("no code near this line");
    case "pending":
      return isLive(run) ? l10n.t("not loaded yet") : l10n.t("never loaded");
    case "verified":
      return line.workers === 1 ? l10n.t("1 worker") : l10n.t("{0} workers", line.workers);
  }
}
