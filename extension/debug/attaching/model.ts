/** The decisions of debugging: which workers to attach to, and the texts of messages. */

import { basename } from "node:path";

import { l10n } from "vscode";

import { plain } from "../../common/texts";
import type { Row } from "../../rows";
import type { PausedGroup, PausedWorker, Snapshot } from "../workers/messages";
import { shortPlace, workerName } from "../workers/names";
import type { GroupRow } from "../workers/rows";
import type { Failure, IgnoredBreakpoint, Outcome } from "./messages";

/** A worker by the two names that every request needs. */
export interface Target {
  readonly cluster: string;
  readonly worker: string;
}

/** A worker with a session, and the name of that session: "policy-0 (rank 0)". */
export interface DebuggedWorker extends Target {
  readonly name: string;
  /** The session only looks inside it, and it runs. */
  readonly isInspected?: boolean;
}

/** The running workers among those with a session: the list has the stopped ones. */
export function runningOf<T extends Target>(
  debugged: readonly T[],
  snapshot: Pick<Snapshot, "groups">,
): readonly T[] {
  const listed = new Set(allWorkers(snapshot).map(({ worker_id }) => worker_id));
  return debugged.filter(({ worker }) => !listed.has(worker));
}

export function targetOf(worker: PausedWorker): Target {
  return { cluster: worker.cluster, worker: worker.worker_id };
}

export function targetKey(target: Target): string {
  return `${target.cluster} ${target.worker}`;
}

/** In a configuration: the attach is automatic, so a worker of another window is not taken. */
export const UNLESS_TAKEN = "unlessTaken";

/** Whether it can be attached to now, from this machine. */
export function isWaiting({ state, held_on }: PausedWorker): boolean {
  return (state === "paused" || state === "held") && held_on === "";
}

/** Whether actions on a group apply to it: not to a worker that runs, is gone, or is held elsewhere. */
export function isControllable(worker: PausedWorker): boolean {
  return isWaiting(worker) || (worker.state === "debugging" && worker.held_on === "");
}

/** All workers of the list, those that relay an error included. */
export function allWorkers({ groups }: Pick<Snapshot, "groups">): PausedWorker[] {
  const below = (worker: PausedWorker): PausedWorker[] => [
    worker,
    ...worker.children.flatMap(below),
  ];
  return groups.flatMap(({ workers }) => workers.flatMap(below));
}

/** The rows as the list has them now: the selection may be old. */
export function currentRows(rows: readonly Row[], { groups }: Snapshot): Row[] {
  const all = allWorkers({ groups });
  return rows.flatMap((row): Row[] => {
    if (row.row === "group") {
      return groups
        .filter((group) => isSameGroup(group, row))
        .map((group) => ({ ...row, workers: group.workers }));
    }
    if (row.row === "worker") {
      const key = targetKey(targetOf(row.worker));
      return all
        .filter((worker) => targetKey(targetOf(worker)) === key)
        .map((worker) => ({ ...row, worker }));
    }
    return [row];
  });
}

function isSameGroup(group: PausedGroup, row: GroupRow): boolean {
  return (
    group.cluster === row.cluster &&
    group.title === row.title &&
    group.post_mortem === row.post_mortem
  );
}

/** Every waiting worker, in the order of the panel. */
export function waiting(snapshot: Snapshot): PausedWorker[] {
  return snapshot.groups.flatMap((group) => group.workers.filter(isWaiting));
}

/**
 * The worker for "Attach to Next Paused Worker".
 *
 * 1. The first that waits below the one attached to last, so that pressing the key walks down the panel.
 * 2. Else the first that waits at all.
 */
export function nextWaiting(
  snapshot: Snapshot,
  last: Target | undefined,
): PausedWorker | undefined {
  const all = snapshot.groups.flatMap((group) => group.workers);
  const at = last ? all.findIndex((worker) => targetKey(targetOf(worker)) === targetKey(last)) : -1;
  return all.slice(at + 1).find(isWaiting) ?? all.find(isWaiting);
}

/** The actions of this window that automatic attaching needs; workers by their keys. */
interface AttachHistory {
  /** How many sessions are open. */
  readonly sessions: number;
  /** Workers that it attached to or tried to. */
  readonly tried: ReadonlySet<string>;
  /** The workers among them that another window had, as long as they are listed. */
  readonly taken: ReadonlySet<string>;
}

/**
 * The worker to attach to automatically, if any.
 *
 * 1. None while a session is open, so that the user is not interrupted.
 * 2. None of a cluster that another window debugs: it has an attached worker, or one that another window
 *    had taken.
 * 3. Only paused ones: the user left a held one on purpose.
 * 4. None that was attached before in this window: the user disconnected so that it runs.
 * 5. "first": the first; "rank0": the first whose rank is 0; anything else: none.
 */
export function autoAttachChoice(
  setting: "off" | "first" | "rank0",
  snapshot: Snapshot,
  { sessions, tried, taken }: AttachHistory,
): PausedWorker | undefined {
  if (sessions > 0) {
    return undefined;
  }
  const all = snapshot.groups.flatMap((group) => group.workers);
  const isElsewhere = (worker: PausedWorker): boolean =>
    worker.state === "debugging" || taken.has(targetKey(targetOf(worker)));
  const busy = new Set(all.filter(isElsewhere).map((worker) => worker.cluster));
  const fresh = all.filter(
    (worker) =>
      worker.state === "paused" &&
      !busy.has(worker.cluster) &&
      !tried.has(targetKey(targetOf(worker))),
  );
  switch (setting) {
    case "first":
      return fresh[0];
    case "rank0":
      return fresh.find((worker) => worker.rank === 0);
    default:
      // settings.json may contain any word.
      return undefined;
  }
}

/** Whether the editor ended the session with Stop, so that the user has to be asked. */
export function asksToStop(message: unknown): boolean {
  const {
    type,
    command,
    arguments: args,
  } = message as {
    type?: string;
    command?: string;
    arguments?: { terminateDebuggee?: boolean; restart?: boolean };
  };
  return (
    type === "request" &&
    command === "disconnect" &&
    args?.terminateDebuggee === true &&
    args.restart !== true
  );
}

/** Whether a message between the editor and the adapter ends their session in order. */
export function endsSession(message: unknown): boolean {
  const { type, command, event } = message as { type?: string; command?: string; event?: string };
  return (
    (type === "request" && command === "disconnect") || (type === "event" && event === "terminated")
  );
}

/** One sentence for what failed of an action on several workers, or undefined when nothing did. */
export function failureSentence(outcome: Outcome): string | undefined {
  const [first] = outcome.failures;
  if (!first) {
    return undefined;
  }
  const more = outcome.failures.length - 1;
  const rest =
    more === 0
      ? ""
      : more === 1
        ? l10n.t("The same failed for 1 more worker. The log has its name.")
        : l10n.t("The same failed for {0} more workers. The log has their names.", more);
  return [first.message, first.next_step, rest].filter((part) => part !== "").join(" ");
}

/** "policy.py:23", the breakpoint()'s own line where it is known. */
export function skippedPlace({ path, line, listed_line }: IgnoredBreakpoint): string {
  return plain(`${basename(path)}:${listed_line > 0 ? listed_line : line}`);
}

/** The message that confirms a skip, or undefined when nothing is skipped. */
export function skippedSentence(skipped: readonly IgnoredBreakpoint[]): string | undefined {
  const [first] = skipped;
  if (!first) {
    return undefined;
  }
  return skipped.length === 1
    ? l10n.t("Skipping {0} in all workers of this cluster.", skippedPlace(first))
    : l10n.t("Skipping {0} lines in all workers.", skipped.length);
}

/** Says that workers which were continued have paused again, as if nothing had happened; undefined when none has. */
export function pausedAgainSentence(again: readonly PausedWorker[]): string | undefined {
  const [first] = again;
  if (!first) {
    return undefined;
  }
  const places = new Set(
    again.map(({ location }) => location && shortPlace(location.path, location.line)),
  );
  const [place] = places;
  if (again.length === 1) {
    const name = plain(workerName(first));
    return place
      ? l10n.t("{0} paused again at {1}.", name, plain(place))
      : l10n.t("{0} paused again.", name);
  }
  return places.size === 1 && place
    ? l10n.t("Paused again: {0} workers at {1}.", again.length, plain(place))
    : l10n.t("Paused again: {0} workers.", again.length);
}

/** A failure as a line of the log. */
export function failureLine(failure: Failure): string {
  return `${failure.name} (${failure.worker_id}): ${failure.code}: ${failure.message} ${failure.next_step}`;
}

/** The message at the start about workers that are held since the last window. */
export function heldSentence(snapshot: Snapshot): string | undefined {
  const held = waiting(snapshot).filter((worker) => worker.state === "held");
  const [first] = held;
  if (!first) {
    return undefined;
  }
  return held.length === 1
    ? l10n.t("{0} still waits where you left it.", workerName(first))
    : l10n.t("{0} workers still wait where you left them.", held.length);
}
