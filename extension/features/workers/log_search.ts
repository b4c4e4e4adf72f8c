/** Searching of logs: which ones, cluster by cluster, and all that was found as one. */

import {
  asEaglerayError,
  isCancellation,
  someFailed,
  type EaglerayError,
} from "../../common/errors";
import { count, plain } from "../../common/texts";
import type { Row } from "../../rows";
import type { Cluster } from "../clusters/messages";
import type { LogMatches } from "./messages";
import { workersOf } from "./rows";

/** Which logs of a cluster; all of them where no worker is named. */
export interface LogsOf {
  readonly cluster: string;
  readonly worker_ids: readonly string[];
}

export interface Scope {
  /** In words. */
  readonly where: string;
  readonly logs: readonly LogsOf[];
}

/** What was found in one cluster. */
export interface Found extends LogMatches {
  readonly cluster: string;
}

/** Those of the rows' workers, else all of a cluster; undefined where there is none. */
export function scopeOf(rows: readonly Row[], clusters: readonly Cluster[]): Scope | undefined {
  const workers = workersOf(rows);
  const [first] = workers;
  if (first !== undefined) {
    const [row] = rows;
    const title = row?.row === "group" || row?.row === "anyGroup" ? row.title : first.name;
    // A group may be selected with its own workers.
    const ids = new Map<string, Set<string>>();
    for (const { cluster, worker_id } of workers) {
      ids.set(cluster, (ids.get(cluster) ?? new Set()).add(worker_id));
    }
    const logs = [...ids].map(([cluster, of]) => ({ cluster, worker_ids: [...of] }));
    return { where: rows.length === 1 ? plain(title) : wordsOf(logs), logs };
  }
  const named = rows.flatMap((row) => ("cluster" in row ? [idOf(row.cluster)] : []));
  const meant = clusters.filter((one) => named.includes(one.id));
  const searched = meant.length > 0 ? meant : clusters.slice(0, 1);
  return searched.length === 0
    ? undefined
    : {
        where: searched.map(({ name }) => plain(name)).join(", "),
        logs: searched.map(({ id }) => ({ cluster: id, worker_ids: [] })),
      };
}

/** All clusters at once; one that does not answer keeps nothing of the others back, and is said. */
export async function searchEach(
  { logs }: Scope,
  nameOf: (cluster: string) => string,
  search: (logs: LogsOf) => Promise<LogMatches>,
): Promise<readonly Found[]> {
  const failed: [name: string, error: EaglerayError][] = [];
  const searched = logs.map(async (one): Promise<Found> => {
    const { cluster } = one;
    try {
      return { cluster, ...(await search(one)) };
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

function wordsOf(logs: readonly LogsOf[]): string {
  const workers = logs.reduce((sum, { worker_ids }) => sum + worker_ids.length, 0);
  const of = logs.length > 1 ? ` of ${count(logs.length, "cluster")}` : "";
  return count(workers, "worker") + of;
}

function idOf(cluster: string | { readonly id: string }): string {
  return typeof cluster === "string" ? cluster : cluster.id;
}
