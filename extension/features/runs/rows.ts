/** The rows of the view Runs: runs, their processes, and breakpoints that were not reached. */

import {
  count,
  dotted,
  duration,
  lines,
  plain,
  spokenText,
  type RowTexts,
} from "../../common/texts";
import { ROWS } from "../../contributions";
import type { Clusters } from "../clusters/messages";
import type { ProfiledRun, ProfiledRuns, ProfiledWorker } from "../profiling/messages";
import type { BreakpointStatus, Run, RunWorkerStatus, StoredRuns } from "./messages";

/** The view's input: the lists, and the time in seconds since 1970. */
export interface RunsView {
  readonly runs: StoredRuns;
  readonly clusters: Clusters;
  readonly profiled: ProfiledRuns;
  readonly now_s: number;
}

/** With more workers than this a run starts collapsed. */
const UNFOLDED_AT_MOST = 20;

interface RunIcon {
  readonly icon: string;
  readonly color?: string;
  readonly word: string;
}

const RUN_ICONS: Readonly<Record<Run["state"], RunIcon>> = {
  starting: { icon: "loading~spin", word: "starting" },
  running: { icon: "play-circle", color: "charts.green", word: "running" },
  stopped_at: { icon: "debug-pause", color: "charts.orange", word: "stopped" },
  stopping: { icon: "loading~spin", word: "stopping" },
  stopped: { icon: "debug-stop", color: "disabledForeground", word: "stopped" },
  ended: { icon: "pass", color: "disabledForeground", word: "ended" },
  failed: { icon: "error", color: "list.errorForeground", word: "failed" },
  unwatched: { icon: "warning", color: "list.warningForeground", word: "not watched any more" },
};

const WORKER_ICONS: Readonly<Record<RunWorkerStatus["state"], RunIcon>> = {
  stopped: { icon: "debug-pause", color: "charts.orange", word: "stopped" },
  waiting: { icon: "loading~spin", word: "waiting for the debugger" },
  running: { icon: "debug-continue", color: "charts.green", word: "running with breakpoints" },
  free: { icon: "circle-outline", color: "disabledForeground", word: "running free" },
};

/** Stopped workers come first. */
const WORKER_ORDER: readonly RunWorkerStatus["state"][] = ["stopped", "waiting", "running", "free"];

/** Runs; below each its breakpoints that aren't verified, and its workers. */
export function runsRows({ runs }: RunsView, row?: RunsRow): readonly RunsRow[] {
  if (row === undefined) {
    return runs.runs.map((run) => ({ row: "run", run }));
  }
  return row.row === "run" ? [...lineRows(row.run), ...workerRows(row.run)] : [];
}

export function runsTexts(view: RunsView, row: RunsRow): RowTexts {
  switch (row.row) {
    case "run":
      return runTexts(view, row);
    case "runWorker":
      return workerTexts(view, row);
    case "runLine":
      return lineTexts(row);
  }
}

/** Notes about the breakpoints in a file that were moved or are unreachable, by their line. */
export function lineNotes(
  { runs }: StoredRuns,
  path: string,
): readonly { readonly line: number; readonly text: string }[] {
  const notes = runs
    .filter(isLive)
    .flatMap((run) =>
      run.lines
        .filter((line) => line.path === path && /^(moved|unreachable)$/.test(line.state))
        .map((line) => [line.line, plain(lineSentence(run, line), 500)] as const),
    );
  // Of several runs of one program the newest counts.
  return [...new Map(notes.reverse())].map(([line, text]) => ({ line, text }));
}

function lineRows(run: Run): RunLineRow[] {
  return run.lines
    .filter((line) => line.state !== "verified")
    .map((line) => ({ row: "runLine", run, line }));
}

function workerRows(run: Run): RunWorkerRow[] {
  const ordered = WORKER_ORDER.flatMap((state) =>
    run.workers.filter((worker) => worker.state === state),
  );
  return ordered.map((worker) => ({ row: "runWorker", run, worker }));
}

function runTexts({ clusters, profiled, now_s }: RunsView, { run }: RunRow): RowTexts {
  const { icon, color } = RUN_ICONS[run.state];
  const name = plain(run.name);
  const state = stateOf(run);
  const reason = plain(run.reason, 300);
  const took = duration((isLive(run) ? now_s : run.ended) - run.started);
  const where = plain(clusterName(clusters, run.cluster));
  // The note of the run names a Ray that the program itself started or joined.
  const isJob = run.kind === "job";
  const note = plain(run.note, 500);
  const profile = runRecording(profiled, run);
  return {
    id: `run ${run.id}`,
    label: name,
    description: dotted(reason || state, profile.text, took, isJob ? where : "", note),
    tooltip: lines(
      run.command,
      `In ${run.cwd}`,
      where === "" ? "" : `On ${where}`,
      run.python === "" ? "" : `Python ${run.python}`,
      run.preset === "" ? "" : `Preset ${run.preset}`,
      `${state}, ${took}`,
      profile.sentence,
      run.note,
      ...run.tail.split("\n"),
    ),
    spoken: spokenText(`run ${name}`, state, reason, profile.text, took, where, note),
    icon,
    ...(color === undefined ? {} : { color }),
    context: (isLive(run) ? ROWS.run.live : ROWS.run.ended) + profile.context,
    children: childrenOf(run),
  };
}

/** "2 of 8 workers stopped", "failed (exit 1)". */
function stateOf(run: Run): string {
  const { word } = RUN_ICONS[run.state];
  if (!isLive(run)) {
    // The exit code of a program that was stopped is of no interest.
    return run.state === "failed" && run.code !== null ? `${word} (exit ${run.code})` : word;
  }
  const stopped = run.workers.filter((worker) => worker.state === "stopped").length;
  return stopped > 0 ? `${stopped} of ${count(run.workers.length, "process", "es")} stopped` : word;
}

/** Expanded from the start for a live run: the editor keeps the state that a row had at first. */
function childrenOf(run: Run): RowTexts["children"] {
  const rows = run.workers.length + lineRows(run).length;
  if (isLive(run)) {
    return rows <= UNFOLDED_AT_MOST ? "expanded" : "collapsed";
  }
  return rows === 0 ? "none" : "collapsed";
}

function workerTexts({ profiled }: RunsView, { run, worker }: RunWorkerRow): RowTexts {
  const { icon, color, word } = WORKER_ICONS[worker.state];
  const name = workerName(worker);
  const rank = worker.rank === "" ? "" : `rank ${plain(worker.rank)}`;
  const place = worker.path === "" ? "" : plain(shortPlace(worker.path, worker.line));
  const kind = worker.kind === "worker" ? "" : worker.kind;
  const profile = workerRecording(profiled, run, worker);
  return {
    id: `runWorker ${run.id} ${worker.worker_id}`,
    label: name,
    description: dotted(word, profile.text, kind, rank, place, `pid ${worker.pid}`),
    tooltip: lines(
      worker.name,
      dotted(worker.kind, word, rank),
      worker.path === "" ? "" : `${worker.path}:${worker.line}`,
      `pid ${worker.pid}, Python ${worker.python}`,
      profile.sentence,
    ),
    spoken: spokenText(
      name,
      kind,
      rank,
      word,
      profile.text,
      place === "" ? "" : `at ${place}`,
      `process ${worker.pid}`,
    ),
    icon,
    ...(color === undefined ? {} : { color }),
    context: `${ROWS.runWorker}.${worker.state}${profile.context}`,
    children: "none",
  };
}

/** The name of a process, in its row and in pick lists. */
export function workerName(worker: RunWorkerStatus): string {
  return plain(worker.name) || `${worker.kind} ${worker.pid}`;
}

function lineTexts({ run, line }: RunLineRow): RowTexts {
  const label = plain(shortPlace(line.path, line.line));
  const why = plain(lineSentence(run, line), 500);
  return {
    id: `runLine ${run.id} ${line.path}:${line.line}`,
    label,
    description: why,
    tooltip: lines(`${line.path}:${line.line}`, lineSentence(run, line)),
    spoken: spokenText(`breakpoint ${label}`, why),
    icon: { pending: "circle-large-outline", moved: "arrow-down", unreachable: "circle-slash" }[
      line.state === "verified" ? "pending" : line.state
    ],
    color:
      line.state === "unreachable" ? "list.warningForeground" : "debugIcon.breakpointForeground",
    context: ROWS.runLine,
    children: "none",
  };
}

/** The state of a breakpoint; the sidecar's reason where there is one. */
function lineSentence(run: Run, line: BreakpointStatus): string {
  if (line.reason !== "") {
    return line.reason;
  }
  switch (line.state) {
    case "moved":
      return `stops at line ${line.moved_to}, the nearest with code`;
    case "unreachable":
      return "cannot be reached: there is no code near this line";
    case "pending":
      return isLive(run) ? "no process has loaded this file yet" : "no process loaded this file";
    case "verified":
      return count(line.workers, "process", "es");
  }
}

/** "policy.py:42". */
function shortPlace(path: string, line: number): string {
  return `${path.slice(path.lastIndexOf("/") + 1)}:${line}`;
}

function clusterName({ clusters }: Clusters, id: string): string {
  return clusters.find((cluster) => cluster.id === id)?.name ?? id;
}

/** A run of the user's program. */
interface RunRow {
  readonly row: "run";
  readonly run: Run;
}

/** A process of a run. */
interface RunWorkerRow {
  readonly row: "runWorker";
  readonly run: Run;
  readonly worker: RunWorkerStatus;
}

/** A breakpoint of a run that was moved, or that no process has reached. */
interface RunLineRow {
  readonly row: "runLine";
  readonly run: Run;
  readonly line: BreakpointStatus;
}

export type RunsRow = RunRow | RunWorkerRow | RunLineRow;

/** Whether the program of a run is still running. */
export function isLive({ state }: Pick<Run, "state">): boolean {
  return state !== "stopped" && state !== "ended" && state !== "failed";
}

/** The recording state in a row; all is "" for a run or worker without nsys. */
interface RecordingTexts {
  readonly text: string;
  /** The details, for the tooltip. */
  readonly sentence: string;
  /** Ends the row's context value. */
  readonly context: string;
}

/** A worker without nsys cannot record. */
const WORKER_CONTEXTS: Partial<Record<ProfiledWorker["state"], string>> = {
  recording: ROWS.recording,
  missing: "",
};

const NOT_PROFILED: RecordingTexts = { text: "", sentence: "", context: "" };

export function runRecording({ runs }: ProfiledRuns, { id }: Run): RecordingTexts {
  const run = runs.find(({ run }) => run === id);
  if (run === undefined) {
    return NOT_PROFILED;
  }
  const isRecording = run.workers.some(({ state }) => state === "recording");
  return {
    text: runRecordingText(run),
    sentence: run.sentence,
    context: isRecording ? ROWS.recording : ROWS.profiled,
  };
}

function workerRecording(
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
  };
}

/** "recording 2 of 8", "gathering 3 of 8 reports". */
function runRecordingText({ state, workers, gathered, expected, sentence }: ProfiledRun): string {
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
      return here || idleText(workers.length - having("missing"), sentence);
  }
}

function idleText(profiled: number, sentence: string): string {
  return profiled === 0
    ? plain(`nobody profiled yet${because(sentence)}`, 300)
    : `${count(profiled, "worker")} profiled`;
}

function because(sentence: string): string {
  return sentence === "" ? "" : `: ${sentence}`;
}

function workerRecordingText({ state, sentence, reports }: ProfiledWorker): string {
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
