/** The rows of the view Paused. */

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
} from "../../common/texts";
import { COMMANDS, ROWS } from "../../contributions";
import type { Cluster, ClusterProblem, Clusters } from "../../clusters/messages";
import {
  clusterContext,
  clusterSentence,
  clusterWord,
  failingRoute,
  problemTexts,
} from "../../clusters/rows";
import type { PausedWorker, Snapshot } from "./messages";
import {
  namesRank,
  rankRanges,
  rankText,
  shortPlace,
  STATE_ICONS,
  stateWord,
  workerName,
} from "./names";
import type { GroupRow, PausedRow } from "./rows";

/** The view's input: the lists, the time in milliseconds, and how many seconds ago the snapshot came. */
export interface PausedView {
  readonly snapshot: Snapshot;
  readonly clusters: Clusters;
  readonly age_s: number;
  readonly now: number;
}

/** How far the row of a worker is indented, below its group's. */
const WORKER_LEVEL = 1;
/** With more workers than this the groups start collapsed: users don't read so many rows, but the editor draws them. */
const UNFOLDED_AT_MOST = 100;

/**
 * Groups of workers.  Without any, the clusters that are not connected or have problems; with none of these
 * either, nothing: the view's welcome text says what to do next.
 */
export function pausedRows(view: PausedView, row?: PausedRow): readonly PausedRow[] {
  switch (row?.row) {
    case undefined:
      return view.snapshot.groups.length > 0 ? groupRows(view.snapshot) : emptyRows(view.clusters);
    case "group":
      return [
        ...(row.waiting === "" ? [] : [{ row: "sentence", group: row } as const]),
        ...row.workers.map((worker) => ({ row: "worker", worker, group: row }) as const),
      ];
    case "worker":
      return row.worker.children.map((worker) => ({ row: "worker", worker, group: row.group }));
    case "empty":
      return problemsBelow(row.cluster).map((problem) => ({
        row: "problem",
        cluster: row.cluster.id,
        problem,
      }));
    case "problem":
    case "sentence":
      return [];
  }
}

/** The command that a click on a row runs. */
export function pausedClick(row: PausedRow): string | undefined {
  if (row.row === "sentence") {
    return COMMANDS.openPicture;
  }
  return row.row === "worker" && row.worker.state !== "gone" ? COMMANDS.attach : undefined;
}

export function pausedTexts(view: PausedView, row: PausedRow): RowTexts {
  switch (row.row) {
    case "group":
      return groupTexts(view, row);
    case "worker":
      return workerTexts(view, row.worker, row.group);
    case "sentence":
      return sentenceTexts(row.group);
    case "empty":
      return emptyTexts(row.cluster);
    case "problem":
      return problemTexts(row);
  }
}

function groupRows({ groups }: Snapshot): readonly PausedRow[] {
  return groups.map((group) => ({ row: "group", ...group }));
}

function emptyRows({ clusters }: Clusters): readonly PausedRow[] {
  return clusters
    .filter(({ state, problems }) => state !== "connected" || problems.length > 0)
    .map((cluster) => ({ row: "empty", cluster }));
}

/** One that is not responding says so in its own row, and its tooltip has the problem. */
function problemsBelow({ id, state, problems }: Cluster): Cluster["problems"] {
  const word = clusterWord(state);
  const isOwn = (problem: ClusterProblem): boolean =>
    problemTexts({ row: "problem", cluster: id, problem }).label.toLowerCase() === word;
  return state === "unreachable" ? problems.filter((problem) => !isOwn(problem)) : problems;
}

/** Icons of groups by what runs in them: a method of a class, a function, or a driver. */
function groupIcon({ title, post_mortem }: GroupRow): Pick<RowTexts, "icon" | "color"> {
  if (post_mortem) {
    return { icon: "error", color: "list.errorForeground" };
  }
  if (title === "Driver") {
    return { icon: "home" };
  }
  return { icon: title.includes(".") ? "symbol-class" : "symbol-method" };
}

function groupTexts(view: PausedView, group: GroupRow): RowTexts {
  const title = plain(group.title);
  const states = stateCounts(group.workers);
  const several = view.clusters.clusters.length > 1;
  const cluster = several ? plain(clusterName(view.clusters, group.cluster)) : "";
  const total = view.snapshot.groups.reduce((sum, { workers }) => sum + workers.length, 0);
  const place = common(group.workers.map(placeOf));
  const error = plain(common(group.workers.map(({ exception }) => exceptionName(exception))));
  const ranks = group.workers.flatMap(({ rank }) => (rank === null ? [] : [rank]));
  return {
    id: `group ${group.cluster} ${group.title}${group.post_mortem ? " post-mortem" : ""}`,
    label: title,
    description: dotted(error, place, `${group.workers.length}`, cluster),
    tooltip: lines(
      group.title,
      states,
      error,
      place,
      ranks.length > 1 ? l10n.t("Ranks {0}", rankRanges(ranks)) : "",
      clusterName(view.clusters, group.cluster),
    ),
    spoken: spokenText(
      l10n.t("group {0}", title),
      states,
      error,
      place === "" ? "" : l10n.t("at {0}", place),
      cluster,
    ),
    ...groupIcon(group),
    context: ROWS.group,
    children: total > UNFOLDED_AT_MOST ? "collapsed" : "expanded",
  };
}

function sentenceTexts({ cluster, title, post_mortem, waiting, sentence }: GroupRow): RowTexts {
  const text = plain(sentence, 300);
  return {
    id: `sentence ${cluster} ${title}${post_mortem ? " post-mortem" : ""}`,
    label: plain(waiting),
    description: "",
    tooltip: text,
    spoken: text,
    icon: "question",
    context: ROWS.sentence,
    children: "none",
  };
}

/** The text that all have, else "". */
function common(texts: readonly string[]): string {
  const [first = ""] = texts;
  return texts.every((text) => text === first) ? first : "";
}

/** "ValueError" of "ValueError: no target". */
function exceptionName(exception: string): string {
  return exception.slice(0, /:|$/.exec(exception)?.index);
}

/** "4 paused", "3 paused, 1 held". */
function stateCounts(workers: readonly PausedWorker[]): string {
  const order: readonly PausedWorker["state"][] = ["paused", "held", "debugging", "gone"];
  return order
    .map((state) => [state, workers.filter((worker) => worker.state === state).length] as const)
    .filter(([, number]) => number > 0)
    .map(([state, number]) => `${number} ${stateWord(state)}`)
    .join(", ");
}

/**
 * The most important comes first, since the end of a row is cut: an icon shows the state, words only what it cannot.
 *
 * 1. A hold, since it blocks the job.
 * 2. The rank unless the name ends with it, or the PID of a worker that has the same name and rank as another of its group.
 * 3. The exception, the location unless the row of the group shows it, and how long it has waited.
 * 4. The node, if the group has workers of several.
 *
 * The middle of a long name gives way to all of that; the tooltip has the whole name.
 */
function workerTexts(view: PausedView, worker: PausedWorker, group: GroupRow): RowTexts {
  const name = plain(worker.name);
  const hold = holdText(view, worker);
  const why = plain(reason(worker));
  const rank = rankText(worker.rank);
  const isFailed = worker.kind === "post-mortem";
  const place = placeOf(worker);
  const isShared = common(group.workers.map(placeOf)) !== "";
  const isTimed = worker.state === "paused" && worker.waiting_s !== null;
  const waits = isTimed ? duration(worker.waiting_s + view.age_s) : "";
  const node = plain(worker.node_ip);
  const isSpread = new Set(group.workers.map(({ node_ip }) => node_ip)).size > 1;
  const { icon, color } = STATE_ICONS[worker.state];
  const isMarked = isFailed && worker.state === "paused";
  const shownRank = namesRank(name, worker.rank) ? "" : rank;
  const which = hasTwin(worker, group) ? l10n.t("PID {0}", worker.pid) : shownRank;
  const description = dotted(hold, which, why, isShared ? "" : place, waits, isSpread ? node : "");
  return {
    id: `worker ${worker.cluster} ${worker.worker_id}`,
    label: shortened(name, labelRoom(description, WORKER_LEVEL)),
    description,
    tooltip: tooltip(worker, hold, waits),
    spoken: spokenText(
      name,
      rank,
      hold || stateWord(worker.state),
      why,
      place === "" ? "" : l10n.t("at {0}", place),
      node === "" ? "" : l10n.t("node {0}", node),
      l10n.t("process {0}", worker.pid),
      waits === "" ? "" : l10n.t("waiting {0}", waits),
      isUnnamedFailure(worker) ? l10n.t("Failed. Click to see why.") : "",
    ),
    icon: isMarked ? "error" : icon,
    color: isMarked ? "list.errorForeground" : color,
    context: `${ROWS.worker}.${worker.held_on === "" ? worker.state : "elsewhere"}`,
    children: worker.children.length > 0 ? "collapsed" : "none",
  };
}

/** Whether neither name nor rank tells the worker from another of its group. */
function hasTwin({ worker_id, name, rank }: PausedWorker, { workers }: GroupRow): boolean {
  return workers.some(
    (other) => other.worker_id !== worker_id && other.name === name && other.rank === rank,
  );
}

/** "held since 14:10", "held on login2"; "node lost" of a worker on a dead node; "" where the icon is enough. */
function holdText(view: PausedView, worker: PausedWorker): string {
  if (worker.state === "gone") {
    return stateWord("gone");
  }
  if (worker.held_on !== "") {
    return l10n.t("held on {0}", plain(worker.held_on));
  }
  return worker.state === "held" ? heldSince(worker.held_s + view.age_s, view.now) : "";
}

function heldSince(seconds: number, now: number): string {
  const since = new Date(now - seconds * 1000);
  if (since.toDateString() !== new Date(now).toDateString()) {
    return l10n.t("held for {0}", duration(seconds));
  }
  const [hours, minutes] = [since.getHours(), since.getMinutes()];
  const time = `${String(hours).padStart(2, "0")}:${String(minutes).padStart(2, "0")}`;
  return l10n.t("held since {0}", time);
}

/** Why it waits, unless at an ordinary breakpoint(). */
function reason(worker: PausedWorker): string {
  const { children, attempt } = worker;
  const kind = worker.kind === "post-mortem" ? worker.exception || l10n.t("failed") : "";
  const relays =
    children.length === 0
      ? ""
      : children.length === 1
        ? l10n.t("relays 1 error")
        : l10n.t("relays {0} errors", children.length);
  return dotted(kind, relays, attempt > 0 ? l10n.t("attempt {0}", attempt + 1) : "");
}

function placeOf({ location }: PausedWorker): string {
  return location === null ? "" : plain(shortPlace(location.path, location.line));
}

/** Before anybody attaches, Ray tells neither the exception of a failed worker nor its line. */
function isUnnamedFailure({ kind, state, exception, held_on }: PausedWorker): boolean {
  return kind === "post-mortem" && exception === "" && state === "paused" && held_on === "";
}

function tooltip(worker: PausedWorker, hold: string, waits: string): string {
  const { location } = worker;
  const state = hold || stateWord(worker.state);
  return lines(
    workerName(worker),
    waits === "" ? state : l10n.t("{0}, waiting {1}", state, waits),
    worker.kind === "post-mortem" ? l10n.t("failed, post-mortem") : "",
    worker.exception,
    isUnnamedFailure(worker) ? l10n.t("Failed. Click to see why.") : "",
    location === null
      ? ""
      : l10n.t("{0} in {1}", `${location.path}:${location.line}`, location.function),
    worker.threads > 1 ? l10n.t("{0} threads wait", worker.threads) : "",
    worker.node_ip === ""
      ? l10n.t("PID {0}", worker.pid)
      : l10n.t("Node {0}, PID {1}", worker.node_ip, worker.pid),
    l10n.t("Worker {0}", worker.worker_id),
  );
}

function emptyTexts(cluster: Cluster): RowTexts {
  const name = plain(cluster.name);
  const isConnected = cluster.state === "connected";
  const sentence = isConnected ? l10n.t("No worker is paused") : clusterSentence(cluster);
  const isSilent = cluster.state === "unreachable" && failingRoute(cluster) === undefined;
  return {
    id: `empty ${cluster.id}`,
    label: isSilent ? name : sentence,
    description: isSilent ? clusterWord(cluster.state) : name,
    tooltip: lines(
      cluster.name,
      cluster.sentence,
      failingRoute(cluster)?.sentence ?? "",
      ...(isSilent ? cluster.problems.map(({ next_step }) => next_step) : []),
    ),
    spoken: spokenText(name, sentence),
    icon: cluster.state === "connecting" ? "loading~spin" : "info",
    context: clusterContext(cluster),
    children: problemsBelow(cluster).length > 0 ? "expanded" : "none",
  };
}

function clusterName({ clusters }: Clusters, id: string): string {
  return clusters.find((cluster) => cluster.id === id)?.name ?? id;
}
