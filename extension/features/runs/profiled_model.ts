/** What nsys does with a run and with each of its workers, in the words of their rows. */

import { plain, count } from "../../common/texts";
import { ROWS } from "../../contributions";
import type { ProfiledRun, ProfiledRuns, ProfiledWorker } from "../profiling/messages";
import type { Run, RunWorker } from "./messages";

/** What a row says of it; all is "" where nsys is not with it. */
export interface ProfileWords {
  readonly words: string;
  /** More of it, for the tooltip. */
  readonly sentence: string;
  /** Ends the row's context value. */
  readonly context: string;
}

/** A worker that nsys is not with cannot record. */
const WORKER_CONTEXTS: Partial<Record<ProfiledWorker["state"], string>> = {
  recording: ROWS.recording,
  missing: "",
};

const NOT_PROFILED: ProfileWords = { words: "", sentence: "", context: "" };

export function runProfile({ runs }: ProfiledRuns, { id }: Run): ProfileWords {
  const run = runs.find((one) => one.run === id);
  if (run === undefined) {
    return NOT_PROFILED;
  }
  const isRecording = run.workers.some(({ state }) => state === "recording");
  return {
    words: runWords(run),
    sentence: run.sentence,
    context: isRecording ? ROWS.recording : ROWS.profiled,
  };
}

export function workerProfile(
  { runs }: ProfiledRuns,
  { id }: Run,
  { worker_id }: RunWorker,
): ProfileWords {
  const workers = runs.find((one) => one.run === id)?.workers ?? [];
  const worker = workers.find((one) => one.worker_id === worker_id);
  if (worker === undefined) {
    return NOT_PROFILED;
  }
  return {
    words: workerWords(worker),
    sentence: worker.sentence,
    context: WORKER_CONTEXTS[worker.state] ?? ROWS.profiled,
  };
}

/** "recording 2 of 8", "gathering 3 of 8 reports". */
function runWords({ state, workers, gathered, expected, sentence }: ProfiledRun): string {
  const having = (wanted: ProfiledWorker["state"]): number =>
    workers.filter((worker) => worker.state === wanted).length;
  const here = gathered === 0 ? "" : count(gathered, "report");
  switch (state) {
    case "recording":
      return `recording ${having("recording")} of ${count(workers.length, "worker")}`;
    case "writing":
      return `writing ${count(Math.max(having("writing"), 1), "report")}`;
    case "gathering":
      return `gathering ${gathered} of ${count(expected, "report")}`;
    case "gathered":
      return here === "" ? plain(`no report${because(sentence)}`, 300) : `${here} gathered`;
    case "failed":
      return plain(`not gathered: ${sentence}`, 300);
    case "idle":
      return here || idleWords(workers.length - having("missing"), sentence);
  }
}

function idleWords(profiled: number, sentence: string): string {
  return profiled === 0
    ? plain(`nobody profiled yet${because(sentence)}`, 300)
    : `${count(profiled, "worker")} profiled`;
}

function because(sentence: string): string {
  return sentence === "" ? "" : `: ${sentence}`;
}

function workerWords({ state, sentence, reports }: ProfiledWorker): string {
  switch (state) {
    case "profiled":
      return "profiled";
    case "recording":
      return "recording";
    case "writing":
      return "writing its report";
    case "gathered":
      return count(reports.length, "report");
    case "missing":
      return plain(`without nsys: ${sentence}`, 300);
  }
}
