/** The rows of the view Runs: runs, their workers, breakpoints that were not reached, and reports. */

import { l10n } from "vscode";

import {
  dotted,
  duration,
  labelRoom,
  lines,
  plain,
  shortened,
  spokenText,
  type RowTexts,
} from "../common/texts";
import { COLORS, COMMANDS, ROWS } from "../contributions";
import type { Clusters } from "../clusters/messages";
import type { ListedServer } from "../rollouts/servers/messages";
import type { ProfiledRuns } from "../profile/recordings/messages";
import { namesRank, rankText, shortPlace } from "../debug/workers/names";
import type { BreakpointStatus, Run, RunWorkerStatus, StoredRuns } from "./messages";
import { runRecording, workerRecording } from "./recording_texts";
import type { RecordingTimes } from "./recording_times";
import { lineSentence } from "./line_texts";
import { countTexts } from "../clusters/worker_counts";
import { runIcon, runStateText, runStateTexts, workerIcon, workerStateText } from "./state_texts";
import { isAtStop, isLive } from "./states";
import { runName, workerName } from "./worker_names";

/** The view's input: the lists, and the time in seconds since 1970. */
export interface RunsView {
  readonly runs: StoredRuns;
  readonly servers: readonly ListedServer[];
  readonly clusters: Clusters;
  readonly profiled: ProfiledRuns;
  readonly recordings: Pick<RecordingTimes, "since">;
  readonly now_s: number;
}

/** A worker that can't be recorded, in a run that is to be. */
const WITHOUT_NSYS = { icon: "warning", color: "list.warningForeground" };
/** How far the rows of runs and of their workers are indented; below a class it is a little more. */
const RUN_LEVEL = 0;
const RUN_WORKER_LEVEL = 1;
/** With more workers than this a run starts collapsed. */
const UNFOLDED_AT_MOST = 20;
/** With more workers than this they are grouped by their class. */
const UNGROUPED_AT_MOST = 8;

/** A run of the user's program. */
interface RunRow {
  readonly row: "run";
  readonly run: Run;
}

/** Rows of one kind below a run; `name` is the class of the workers. */
interface RunGroupRow {
  readonly row: "runGroup";
  readonly run: Run;
  readonly group: "breakpoints" | "workers" | "reports";
  readonly name: string;
}

/** A process of a run. */
interface RunWorkerRow {
  readonly row: "runWorker";
  readonly run: Run;
  readonly worker: RunWorkerStatus;
}

/** A breakpoint of a run that was moved, or that no worker has reached. */
interface RunLineRow {
  readonly row: "runLine";
  readonly run: Run;
  readonly line: BreakpointStatus;
}

/** A downloaded report of a run. */
interface RunReportRow {
  readonly row: "runReport";
  readonly run: Run;
  readonly path: string;
  readonly worker: string;
  readonly rank: number | null;
}

/** An inference server that runs elsewhere, added by its address. */
interface ServerRow {
  readonly row: "server";
  readonly server: ListedServer;
}

export type RunsRow = ServerRow | RunRow | RunGroupRow | RunWorkerRow | RunLineRow | RunReportRow;

/** Runs; below each its problematic breakpoints, its workers, and its reports. */
export function runsRows(view: RunsView, row?: RunsRow): readonly RunsRow[] {
  switch (row?.row) {
    case undefined:
      return [
        ...view.runs.runs.map((run): RunsRow => ({ row: "run", run })),
        ...view.servers.map((server): RunsRow => ({ row: "server", server })),
      ];
    case "run":
      return belowRun(view, row.run);
    case "runGroup":
      return belowGroup(view, row);
    default:
      return [];
  }
}

export function runsTexts(view: RunsView, row: RunsRow): RowTexts {
  switch (row.row) {
    case "run":
      return runTexts(view, row);
    case "server":
      return serverTexts(row);
    case "runGroup":
      return groupTexts(view, row);
    case "runWorker":
      return workerTexts(view, row);
    case "runLine":
      return lineTexts(row);
    case "runReport":
      return reportTexts(row);
  }
}

/** The command that a click on a row runs. */
export function runsClick(row: RunsRow): string | undefined {
  switch (row.row) {
    case "run":
      return COMMANDS.showOutput;
    case "runGroup":
    case "server":
      return undefined;
    case "runWorker":
      return isAtStop(row.worker) ? COMMANDS.attach : undefined;
    case "runLine":
      return COMMANDS.goToBreakpoint;
    case "runReport":
      return COMMANDS.openReport;
  }
}

function belowRun(view: RunsView, run: Run): RunsRow[] {
  const groupOf = (group: RunGroupRow["group"], isShown: boolean): RunGroupRow[] =>
    isShown ? [{ row: "runGroup", run, group, name: "" }] : [];
  return [
    ...groupOf("breakpoints", problemLines(run).length > 0),
    ...workerRows(run),
    ...groupOf("reports", reportRows(view, run).length > 0),
  ];
}

function belowGroup(view: RunsView, { run, group, name }: RunGroupRow): RunsRow[] {
  switch (group) {
    case "breakpoints":
      return problemLines(run).map((line) => ({ row: "runLine", run, line }));
    case "workers":
      return inOrder(run.workers.filter((worker) => className(worker) === name)).map((worker) => ({
        row: "runWorker",
        run,
        worker,
      }));
    case "reports":
      return reportRows(view, run);
  }
}

function problemLines({ lines }: Run): readonly BreakpointStatus[] {
  return lines.filter((line) => line.state !== "verified" || line.reason !== "");
}

/** Each worker; with many, the workers of one class are below a row. */
function workerRows(run: Run): RunsRow[] {
  const workers = inOrder(run.workers);
  if (workers.length <= UNGROUPED_AT_MOST) {
    return workers.map((worker) => ({ row: "runWorker", run, worker }));
  }
  const names = [...new Set(workers.map(className))];
  return names.flatMap((name): RunsRow[] => {
    const [first, ...more] = workers.filter((worker) => className(worker) === name);
    return first !== undefined && more.length === 0
      ? [{ row: "runWorker", run, worker: first }]
      : [{ row: "runGroup", run, group: "workers", name }];
  });
}

/** Drivers first, then by rank, then by name. */
function inOrder(workers: readonly RunWorkerStatus[]): RunWorkerStatus[] {
  const kinds = ["driver", "worker", "child"];
  const rank = (worker: RunWorkerStatus): number =>
    worker.rank === "" ? Number.MAX_SAFE_INTEGER : Number(worker.rank);
  return [...workers].sort(
    (left, right) =>
      kinds.indexOf(left.kind) - kinds.indexOf(right.kind) ||
      rank(left) - rank(right) ||
      left.name.localeCompare(right.name, "en", { numeric: true }) ||
      left.pid - right.pid,
  );
}

/** The name without the number of the worker: "policy-3" is one of "policy". */
function className(worker: RunWorkerStatus): string {
  const name = plain(worker.name);
  return name === "" ? l10n.t("Processes") : name.replace(/[-_ ]?\d+$/, "") || name;
}

function reportRows({ profiled }: RunsView, run: Run): RunReportRow[] {
  const workers = profiled.runs.find((profiled) => profiled.run === run.id)?.workers ?? [];
  return workers.flatMap(({ reports, name, rank }) =>
    reports.map((path) => ({ row: "runReport", run, path, worker: name, rank })),
  );
}

function runTexts(view: RunsView, { run }: RunRow): RowTexts {
  const { clusters, profiled, recordings, now_s } = view;
  const { icon, color } = runIcon(run);
  const states = runStateTexts(run);
  const state = dotted(...states);
  const reason = plain(failureReason(run), 300);
  const took = duration((isLive(run) ? now_s : run.ended) - run.started);
  const started = startTime(run.started, now_s);
  const where = plain(clusterName(clusters, run.cluster));
  // The note of the run names a Ray that the program itself started or joined.
  const isJob = run.kind === "job";
  const note = plain(run.note, 500);
  const since = recordings.since(run.id);
  const recording = runRecording(profiled, run, since === undefined ? since : now_s - since);
  // A worker that pauses is of more weight.
  const stuck = stuckText(run, now_s);
  const isRecording = run.state === "running" && recording.context === ROWS.recording;
  const python = run.python === "" ? "" : l10n.t("Python: {0}", run.python);
  const server = isLive(run) ? serverText(run) : "";
  const progress = dotted(recording.text, isRecording ? "" : state, server, took);
  return {
    id: `run ${run.id}`,
    label:
      run.server === null
        ? runName(run, isLive(run) ? labelRoom(progress, RUN_LEVEL) : undefined)
        : plain(run.server.name),
    description: isLive(run)
      ? dotted(stuck, progress, isJob ? where : "", note)
      : dotted(endText(run, reason, took), started, recording.text, note === reason ? "" : note),
    tooltip: lines(
      run.command,
      l10n.t("Folder: {0}", run.cwd),
      python,
      where === "" ? "" : l10n.t("Cluster: {0}", where),
      run.preset === "" ? "" : l10n.t("Preset: {0}", run.preset),
      l10n.t("Started: {0}", started),
      `${state}, ${took}`,
      run.server === null ? "" : dotted(run.server.name, run.server.model, run.server.url),
      run.server?.warning ?? "",
      recording.sentence,
      pictureText(run, now_s),
      run.note,
      ...run.tail.split("\n"),
    ),
    spoken: spokenText(
      l10n.t("run {0}", plain(`${run.name} ${run.arguments}`.trim())),
      ...states,
      stuck,
      server,
      reason,
      recording.text,
      took,
      l10n.t("started {0}", started),
      where,
      note === reason ? "" : note,
    ),
    icon,
    ...(color === undefined ? {} : { color }),
    context:
      (isLive(run) ? ROWS.run.live : ROWS.run.ended) +
      (run.server === null ? "" : ROWS.server) +
      (run.picture === null ? "" : ROWS.picture) +
      recording.context,
    children: childrenOf(view, run),
  };
}

/** "Stuck? Picture of 14:02" while nothing was printed since. */
function stuckText({ picture }: Run, now_s: number): string {
  return picture?.is_stuck === true
    ? l10n.t("Stuck? Picture of {0}", startTime(picture.taken_at, now_s))
    : "";
}

/** The sentence of the last picture that was taken because nothing was printed. */
function pictureText({ picture }: Run, now_s: number): string {
  return picture === null
    ? ""
    : l10n.t(
        "Picture of {0}: {1}",
        startTime(picture.taken_at, now_s),
        plain(picture.sentence, 400),
      );
}

/** Where a server answers, or why it doesn't. */
function serverText({ server }: Run): string {
  if (server === null) {
    return "";
  }
  return plain(server.reason || (server.state === "ready" ? shortAddress(server.url) : ""), 300);
}

/** Why a run failed, or why that isn't known, in one line; the icon of its row says which. */
export function failureReason(run: Run): string {
  return run.state === "failed" || run.state === "unknown"
    ? run.server?.reason || run.reason || run.note
    : "";
}

/** "ValueError: …", "exited · 3 m", "cancelled after 1 m". */
function endText(run: Run, reason: string, took: string): string {
  if (run.state === "cancelled") {
    return l10n.t("cancelled after {0}", took);
  }
  return reason || dotted(runStateText(run), took);
}

/** "14:02", with the date on another day. */
export function startTime(started_s: number, now_s: number): string {
  const then = new Date(started_s * 1000);
  const two = (number: number): string => String(number).padStart(2, "0");
  const time = `${two(then.getHours())}:${two(then.getMinutes())}`;
  if (then.toDateString() === new Date(now_s * 1000).toDateString()) {
    return time;
  }
  return `${two(then.getMonth() + 1)}-${two(then.getDate())} ${time}`;
}

/** Expanded from the start for a live run: the editor keeps the first state of a row (microsoft/vscode#44746). */
function childrenOf(view: RunsView, run: Run): RowTexts["children"] {
  const rows = belowRun(view, run);
  if (isLive(run)) {
    return rows.length <= UNFOLDED_AT_MOST ? "expanded" : "collapsed";
  }
  return rows.length === 0 ? "none" : "collapsed";
}

/** While the program runs, its workers may still load the files of its breakpoints. */
function pendingText(run: Run, number: number): string {
  const problems = problemLines(run);
  const isWaiting = isLive(run) && problems.every(({ state }) => state === "pending");
  return isWaiting ? l10n.t("{0} waiting", number) : l10n.t("{0} not verified", number);
}

function groupTexts(view: RunsView, row: RunGroupRow): RowTexts {
  const { run, group, name } = row;
  const id = `runGroup ${run.id} ${group} ${name}`;
  const rest = { id, tooltip: "", context: "" };
  const number = belowGroup(view, row).length;
  switch (group) {
    case "breakpoints": {
      const label = l10n.t("Breakpoints");
      const description = pendingText(run, number);
      return {
        ...rest,
        label,
        description,
        spoken: spokenText(label, description),
        icon: "debug-breakpoint-unverified",
        children: "expanded",
      };
    }
    case "workers": {
      const workers = run.workers.filter((worker) => className(worker) === name);
      const paused = workers.filter(isAtStop).length;
      const counts = countTexts(workers);
      return {
        ...rest,
        label: plain(name),
        description: dotted(...counts),
        spoken: spokenText(l10n.t("class {0}", plain(name)), ...counts),
        icon: "symbol-class",
        children: paused > 0 && workers.length <= UNFOLDED_AT_MOST ? "expanded" : "collapsed",
      };
    }
    case "reports": {
      const label = l10n.t("Reports");
      return {
        ...rest,
        label,
        description: String(number),
        spoken: number === 1 ? l10n.t("1 report") : l10n.t("{0} reports", number),
        icon: "graph",
        children: "collapsed",
      };
    }
  }
}

/** "policy-1" · "learner.py:19", "trainer" · "rank 1 · learner.py:19": the icon says what state it is in. */
function workerTexts({ profiled }: RunsView, { run, worker }: RunWorkerRow): RowTexts {
  const state = workerStateText(worker);
  const name = workerName(worker);
  const rank = worker.rank === "" ? "" : l10n.t("rank {0}", plain(worker.rank));
  const place = worker.path === "" ? "" : plain(shortPlace(worker.path, worker.line));
  const recording = workerRecording(profiled, run, worker);
  const { icon, color } = recording.lacksNsys ? WITHOUT_NSYS : workerIcon(worker);
  // Only a worker that runs records.
  const status = recording.context === ROWS.recording ? place : place || state;
  const which = namesRank(name, worker.rank === "" ? null : Number(worker.rank)) ? "" : rank;
  const description = dotted(which, recording.text, status);
  return {
    id: `runWorker ${run.id} ${worker.worker_id}`,
    label: shortened(name, labelRoom(description, RUN_WORKER_LEVEL)),
    description,
    tooltip: lines(
      worker.name,
      dotted(kindText(worker), state, rank),
      worker.path === "" ? "" : `${worker.path}:${worker.line}`,
      l10n.t("PID {0}, Python {1}", worker.pid, worker.python),
      recording.sentence,
    ),
    spoken: spokenText(
      name,
      kindText(worker),
      rank,
      state,
      recording.text,
      place === "" ? "" : l10n.t("at {0}", place),
      l10n.t("process {0}", worker.pid),
    ),
    icon,
    ...(color === undefined ? {} : { color }),
    context: `${ROWS.runWorker}.${worker.state}${recording.context}`,
    children: "none",
  };
}

function kindText({ kind }: RunWorkerStatus): string {
  switch (kind) {
    case "driver":
      return l10n.t("driver");
    case "child":
      return l10n.t("subprocess");
    case "worker":
      return l10n.t("worker");
  }
}

function lineTexts({ run, line }: RunLineRow): RowTexts {
  const label = plain(shortPlace(line.path, line.line));
  const why = plain(lineSentence(run, line), 500);
  const isUnreachable = line.state === "unreachable";
  return {
    id: `runLine ${run.id} ${line.path}:${line.line}`,
    label,
    description: why,
    tooltip: lines(`${line.path}:${line.line}`, lineSentence(run, line)),
    spoken: spokenText(l10n.t("breakpoint {0}", label), why),
    icon: isUnreachable ? "circle-slash" : "debug-breakpoint-unverified",
    color: isUnreachable ? "list.warningForeground" : "debugIcon.breakpointUnverifiedForeground",
    context: ROWS.runLine,
    children: "none",
  };
}

function reportTexts({ run, path, worker, rank }: RunReportRow): RowTexts {
  const label = plain(path.slice(path.lastIndexOf("/") + 1));
  return {
    id: `runReport ${run.id} ${path}`,
    label: plain(worker) || label,
    description: dotted(rankText(rank), label),
    tooltip: lines(path),
    spoken: spokenText(l10n.t("report {0}", label), plain(worker), rankText(rank)),
    icon: "graph",
    context: ROWS.runReport,
    children: "none",
  };
}

/** Its state comes from its last health. */
function serverTexts({ server }: ServerRow): RowTexts {
  const isReady = server.state === "ready";
  const state = isReady ? l10n.t("ready") : l10n.t("unhealthy");
  const address = plain(shortAddress(server.url), 300);
  return {
    id: `server ${server.name}`,
    label: plain(server.name),
    description: dotted(state, address),
    tooltip: lines(server.url, server.reason),
    spoken: spokenText(l10n.t("server {0}", plain(server.name)), state, address),
    icon: isReady ? "server-process" : "warning",
    color: isReady ? COLORS.running : "list.warningForeground",
    context: ROWS.addedServer,
    children: "none",
  };
}

function shortAddress(url: string): string {
  return url.replace(/^http:\/\//, "").replace(/\/v1$/, "");
}

function clusterName({ clusters }: Clusters, id: string): string {
  return clusters.find((cluster) => cluster.id === id)?.name ?? id;
}
