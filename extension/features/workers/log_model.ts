/** Logs as texts: their titles, what a search means, and what it found. */

import { count, plain } from "../../common/texts";
import type { Found } from "./log_search";
import type { LogMatch, LogText } from "./messages";
import type { WorkerName } from "./rows";

const NUMBER_WIDTH = 7;

export type Stream = "out" | "err";

export interface Search {
  readonly pattern: string;
  readonly regex: boolean;
  readonly match_case: boolean;
}

/** The name of a document or channel; a slash would make folders of it. */
export function logTitle(worker: Pick<WorkerName, "name" | "worker_id">, stream: Stream): string {
  const name = plain(worker.name, 80).replaceAll("/", "∕");
  return `${name} ${worker.worker_id.slice(0, 8)} ${stream === "out" ? "stdout" : "stderr"}`;
}

export function logDocument(log: LogText, lines: number): string {
  const cut = `… only the last ${lines} lines are shown …\n`;
  const text = log.text === "" ? "(nothing was written yet)\n" : log.text;
  return log.truncated ? cut + text : text;
}

/**
 * What the person typed: `/…/` is a regular expression, anything else plain text.  As in many editors,
 * capitals count only when there is one in what was typed.
 */
export function searchOf(typed: string): Search {
  const regex = typed.length > 2 && typed.startsWith("/") && typed.endsWith("/");
  const pattern = regex ? typed.slice(1, -1) : typed;
  return { pattern, regex, match_case: /\p{Lu}/u.test(pattern) };
}

/** What a search found, as a text in which the number of each line leads to that line of its log. */
export interface MatchesText {
  readonly text: string;
  readonly links: readonly LineLink[];
}

/** Where in the text the link stands (from 0), and the line of the log (from 1) that it leads to. */
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
export function matchesText(search: Search, where: string, found: readonly Found[]): MatchesText {
  const matches = found.flatMap(({ cluster, lines, matches }) =>
    matches.map((match) => ({ ...match, cluster, lines })),
  );
  const text = [
    `${count(matches.length, "line")} with “${search.pattern}” in the logs of ${where}`,
    ...(found.some(({ truncated }) => truncated) ? ["There are more; these are the first."] : []),
    ...found.flatMap(({ unread }) => unread).map((one) => `Not read: ${plain(one, 500)}`),
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
