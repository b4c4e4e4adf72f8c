/** Logs as texts: titles, the scope of a search, and its matches. */

import { l10n } from "vscode";

import {
  asEaglerayError,
  isCancellation,
  someFailed,
  type EaglerayError,
} from "../../../common/errors";
import { plain } from "../../../common/texts";
import type { Row } from "../../../rows";
import type { Cluster } from "../../../clusters/messages";
import type { LogEnd, LogMatch, LogMatches } from "../messages";
import { type WorkerName } from "../rows";
import { workersOf } from "../../../rows";

const NUMBER_WIDTH = 7;

export type Stream = "out" | "err";

interface Search {
  readonly pattern: string;
  readonly regex: boolean;
  readonly match_case: boolean;
}

/** The name of a document or channel; a slash would make folders of it. */
export function logTitle(worker: Pick<WorkerName, "name" | "worker_id">, stream: Stream): string {
  const name = plain(worker.name, 80).replaceAll("/", "∕");
  return `${name} ${worker.worker_id.slice(0, 8)} ${stream === "out" ? "stdout" : "stderr"}`;
}

export function logDocument(log: LogEnd, lines: number): string {
  const cut = `${l10n.t("… Only the last {0} lines are shown. …", lines)}\n`;
  const text = log.text === "" ? `${l10n.t("(empty)")}\n` : log.text;
  return log.truncated ? cut + text : text;
}

/**
 * The search that was typed: `/…/` is a regular expression, anything else plain text.  As in many editors,
 * capitals count only when there is one in what was typed.
 */
export function searchOf(typed: string): Search {
  const regex = typed.length > 2 && typed.startsWith("/") && typed.endsWith("/");
  const pattern = regex ? typed.slice(1, -1) : typed;
  return { pattern, regex, match_case: /\p{Lu}/u.test(pattern) };
}

/** The results of a search, as a text in which the number of each line leads to that line of its log. */
interface MatchesText {
  readonly text: string;
  readonly links: readonly LineLink[];
}

/** The place of the link in the text (from 0), and the line of the log (from 1) that it opens. */
export interface LineLink {
  readonly line: number;
  readonly from: number;
  readonly to: number;
  readonly title: string;
  readonly match: FoundLine;
}

/** A line that fits; the last `lines` lines of its log were searched. */
interface FoundLine extends LogMatch {
  readonly cluster: string;
  readonly lines: number;
}

/** The matches worker by worker. */
export function matchesText(
  search: Search,
  where: string,
  found: readonly ClusterMatches[],
): MatchesText {
  const matches = found.flatMap(({ cluster, lines, matches }) =>
    matches.map((match) => ({ ...match, cluster, lines })),
  );
  const text = [
    matches.length === 1
      ? l10n.t("1 line with “{0}” in the logs of {1}", search.pattern, where)
      : l10n.t("{0} lines with “{1}” in the logs of {2}", matches.length, search.pattern, where),
    ...(found.some(({ truncated }) => truncated)
      ? [l10n.t("Only the first lines are listed.")]
      : []),
    ...found.flatMap(({ unread }) => unread).map((log) => l10n.t("Not read: {0}", plain(log, 500))),
  ];
  const links: LineLink[] = [];
  for (const [title, ofLog] of byLog(matches)) {
    text.push("", title);
    for (const match of ofLog) {
      const number = String(match.line_number);
      const to = Math.max(number.length, NUMBER_WIDTH);
      links.push({ line: text.length, from: to - number.length, to, title, match });
      text.push(`${number.padStart(NUMBER_WIDTH)}: ${match.text}`);
    }
  }
  return { text: `${text.join("\n")}\n`, links };
}

function byLog(matches: readonly FoundLine[]): Map<string, FoundLine[]> {
  const logs = new Map<string, FoundLine[]>();
  for (const match of matches) {
    const title = logTitle(match, match.stream);
    logs.set(title, [...(logs.get(title) ?? []), match]);
  }
  return logs;
}

/** Which logs of a cluster; all of them where no worker is named. */
interface LogsOf {
  readonly cluster: string;
  readonly worker_ids: readonly string[];
}

interface Scope {
  /** As display text. */
  readonly where: string;
  readonly logs: readonly LogsOf[];
}

/** The results in one cluster. */
interface ClusterMatches extends LogMatches {
  readonly cluster: string;
}

/** The logs of the rows' workers, else all logs of a cluster; undefined without a cluster. */
export function scopeOf(rows: readonly Row[], clusters: readonly Cluster[]): Scope | undefined {
  const workers = workersOf(rows);
  const [first] = workers;
  if (first !== undefined) {
    const [row] = rows;
    const title = titleOf(row) ?? first.name;
    // A group may be selected with its own workers.
    const ids = new Map<string, Set<string>>();
    for (const { cluster, worker_id } of workers) {
      ids.set(cluster, (ids.get(cluster) ?? new Set()).add(worker_id));
    }
    const logs = [...ids].map(([cluster, of]) => ({ cluster, worker_ids: [...of] }));
    return { where: rows.length === 1 ? plain(title) : logsText(logs), logs };
  }
  const named = rows.flatMap((row) => ("cluster" in row ? [clusterId(row.cluster)] : []));
  const meant = clusters.filter((cluster) => named.includes(cluster.id));
  const searched = meant.length > 0 ? meant : clusters.slice(0, 1);
  return searched.length === 0
    ? undefined
    : {
        where: searched.map(({ name }) => plain(name)).join(", "),
        logs: searched.map(({ id }) => ({ cluster: id, worker_ids: [] })),
      };
}

/** The title of a row that stands for several workers. */
function titleOf(row: Row | undefined): string | undefined {
  switch (row?.row) {
    case "group":
    case "anyGroup":
      return row.title;
    case "node":
      return row.node.name || row.node.ip;
    default:
      return undefined;
  }
}

/** Searches all clusters at once; one that fails is reported beside the matches of the others. */
export async function searchEach(
  { logs }: Scope,
  nameOf: (cluster: string) => string,
  search: (logs: LogsOf) => Promise<LogMatches>,
): Promise<readonly ClusterMatches[]> {
  const failed: [name: string, error: EaglerayError][] = [];
  const searched = logs.map(async (log): Promise<ClusterMatches> => {
    const { cluster } = log;
    try {
      return { cluster, ...(await search(log)) };
    } catch (error) {
      if (isCancellation(error)) {
        throw error;
      }
      const said = asEaglerayError(error);
      failed.push([nameOf(cluster), said]);
      const unread = [`${nameOf(cluster)}: ${said.sentence}`];
      return { cluster, matches: [], truncated: false, unread, lines: 0 };
    }
  });
  const found = await Promise.all(searched);
  if (failed.length === logs.length) {
    throw someFailed(failed, logs.length);
  }
  return found;
}

function logsText(logs: readonly LogsOf[]): string {
  const workers = logs.reduce((sum, { worker_ids }) => sum + worker_ids.length, 0);
  const text = workers === 1 ? l10n.t("1 worker") : l10n.t("{0} workers", workers);
  return logs.length > 1 ? l10n.t("{0} workers of {1} clusters", workers, logs.length) : text;
}

function clusterId(cluster: string | { readonly id: string }): string {
  return typeof cluster === "string" ? cluster : cluster.id;
}
