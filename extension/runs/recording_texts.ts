/** The state of nsys recordings in the rows of runs and of their workers. */

import { l10n } from "vscode";

import { duration, plain } from "../common/texts";
import { ROWS } from "../contributions";
import type { ProfiledRun, ProfiledRuns, ProfiledWorker } from "../profile/recordings/messages";
import type { Run, RunWorkerStatus } from "./messages";

/** The recording state in a row; all is "" for a run or worker that is not profiled. */
interface RecordingTexts {
  readonly text: string;
  /** The details, for the tooltip. */
  readonly sentence: string;
  /** Ends the row's context value; "" where nothing can be recorded. */
  readonly context: string;
  readonly lacksNsys: boolean;
}

/** A worker without nsys cannot record. */
const WORKER_CONTEXTS: Partial<Record<ProfiledWorker["state"], string>> = {
  recording: ROWS.recording,
  missing: "",
};

const NOT_PROFILED: RecordingTexts = { text: "", sentence: "", context: "", lacksNsys: false };

/** `for_s`: the seconds since its recording began, if known. */
export function runRecording({ runs }: ProfiledRuns, { id }: Run, for_s?: number): RecordingTexts {
  const run = runs.find(({ run }) => run === id);
  if (run === undefined) {
    return NOT_PROFILED;
  }
  const isRecording = run.workers.some(({ state }) => state === "recording");
  const lacksNsys = runLacksNsys(run);
  return {
    text: runRecordingText(run, for_s),
    sentence: run.sentence || (lacksNsys ? (run.workers[0]?.sentence ?? "") : ""),
    context: lacksNsys ? "" : isRecording ? ROWS.recording : ROWS.profiled,
    lacksNsys,
  };
}

/** Whether no worker of a run can record, and it has no report from before. */
export function runLacksNsys({ workers, gathered }: ProfiledRun): boolean {
  return gathered === 0 && workers.length > 0 && workers.every(({ state }) => state === "missing");
}

/** "no nsys on node-7"; the details are in the sentences of the workers. */
export function noNsysText({ workers }: ProfiledRun): string {
  const nodes = [...new Set(workers.map(({ node }) => node))];
  return nodes.length === 1
    ? l10n.t("no nsys on {0}", plain(nodes[0] ?? ""))
    : l10n.t("no nsys on {0} nodes", nodes.length);
}

export function workerRecording(
  { runs }: ProfiledRuns,
  { id }: Run,
  { worker_id }: RunWorkerStatus,
): RecordingTexts {
  const workers = runs.find(({ run }) => run === id)?.workers ?? [];
  const worker = workers.find((worker) => worker.worker_id === worker_id);
  if (worker === undefined) {
    return NOT_PROFILED;
  }
  return {
    text: workerRecordingText(worker),
    sentence: worker.sentence,
    context: WORKER_CONTEXTS[worker.state] ?? ROWS.profiled,
    lacksNsys: worker.state === "missing",
  };
}

/** "● recording 12 s", "downloading 3 of 8 reports". */
function runRecordingText(run: ProfiledRun, for_s: number | undefined): string {
  const { state, workers, gathered, expected, sentence } = run;
  const having = (wanted: ProfiledWorker["state"]): number =>
    workers.filter((worker) => worker.state === wanted).length;
  switch (state) {
    case "recording": {
      const recording = having("recording");
      const time = for_s === undefined ? "" : ` ${duration(for_s)}`;
      return recording === workers.length
        ? `${l10n.t("● recording")}${time}`
        : `${l10n.t("● recording {0} of {1}", recording, workers.length)}${time}`;
    }
    case "writing": {
      const writing = Math.max(having("writing"), 1);
      return writing === 1 ? l10n.t("writing 1 report") : l10n.t("writing {0} reports", writing);
    }
    case "gathering":
      return l10n.t("downloading {0} of {1} reports", gathered, expected);
    case "gathered":
      return gathered === 0 ? noReport(run) : here(gathered);
    case "failed":
      return plain(l10n.t("reports not downloaded: {0}", sentence), 300);
    case "idle":
      return gathered > 0 ? here(gathered) : idleText(run, workers.length - having("missing"));
  }
}

function here(gathered: number): string {
  return gathered === 1 ? l10n.t("1 report") : l10n.t("{0} reports", gathered);
}

function noReport(run: ProfiledRun): string {
  const why = runLacksNsys(run) ? noNsysText(run) : run.sentence;
  return plain(because(l10n.t("no report"), why), 300);
}

/** The reason why no worker has come is in the tooltip: most come a moment after the start. */
function idleText(run: ProfiledRun, profiled: number): string {
  if (profiled === 0) {
    return runLacksNsys(run) ? noNsysText(run) : l10n.t("waiting for workers");
  }
  return profiled === 1 ? l10n.t("1 worker profiled") : l10n.t("{0} workers profiled", profiled);
}

function because(text: string, sentence: string): string {
  return sentence === "" ? text : l10n.t("{0}: {1}", text, sentence);
}

function workerRecordingText({ state, reports }: ProfiledWorker): string {
  switch (state) {
    case "profiled":
      return l10n.t("profiled");
    case "recording":
      return l10n.t("● recording");
    case "writing":
      return l10n.t("writing its report");
    case "gathered":
      return here(reports.length);
    case "missing":
      return l10n.t("no nsys");
  }
}
