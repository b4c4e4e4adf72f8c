/** The row of a cluster, in every view the same. */

import { ROWS } from "../contributions";
import type { Cluster, Route } from "../features/clusters/messages";
import { duration } from "./durations";
import { dotted, lines, said, type RowTexts } from "./row_texts";
import { plain } from "./texts";

interface Look {
  readonly icon: string;
  readonly color?: string;
  readonly word: string;
}

const LOOKS: Readonly<Record<Cluster["state"], Look>> = {
  connecting: { icon: "loading~spin", word: "connecting" },
  connected: { icon: "server-environment", color: "charts.green", word: "connected" },
  unreachable: { icon: "debug-disconnect", color: "list.errorForeground", word: "unreachable" },
  unauthorized: { icon: "key", color: "list.warningForeground", word: "not let in" },
  "not-ray": { icon: "question", color: "list.errorForeground", word: "not Ray" },
  failing: { icon: "warning", color: "list.warningForeground", word: "failing" },
};

const ROUTE_LOOKS: Readonly<Record<Route["state"], Look | undefined>> = {
  // A route that does well leaves the look to the cluster.
  ready: undefined,
  connecting: { icon: "loading~spin", word: "connecting" },
  degraded: { icon: "warning", color: "list.warningForeground", word: "no answer" },
  lost: { icon: "debug-disconnect", color: "list.errorForeground", word: "connection lost" },
  reconnecting: {
    icon: "loading~spin",
    color: "list.warningForeground",
    word: "reconnecting",
  },
};

/** `age_s`: how long ago the sidecar said what it says of the cluster. */
export function clusterTexts(cluster: Cluster, age_s = 0): RowTexts {
  const { route } = cluster;
  const look = lookOf(cluster);
  const name = plain(cluster.name);
  const sentence = clusterSentence(cluster);
  const via = viaOf(route);
  const left = timeLeft(cluster.time_left_s, age_s);
  return {
    id: `cluster ${cluster.id}`,
    label: name,
    description: dotted(sentence, via, left),
    tooltip: lines(
      cluster.name,
      cluster.id === cluster.name ? "" : cluster.id,
      cluster.sentence,
      ...routeLines(route),
      left === "" ? "" : `The time of its job: ${left}`,
    ),
    spoken: said(`cluster ${name}`, look.word, sentence, via, left),
    icon: look.icon,
    ...(look.color === undefined ? {} : { color: look.color }),
    context: clusterContext(cluster),
    children: cluster.problems.length > 0 ? "expanded" : "none",
  };
}

/** What is the matter with the way there, else what the cluster says of itself. */
export function clusterSentence(cluster: Cluster): string {
  const said = troubled(cluster)?.sentence ?? cluster.sentence;
  return said === "" ? lookOf(cluster).word : plain(said);
}

/** The route of a cluster that does not do well. */
export function troubled({ route }: Cluster): Route | undefined {
  return route !== null && route.state !== "ready" ? route : undefined;
}

/** Which menus its row has, in every view. */
export function clusterContext(cluster: Cluster): string {
  return ROWS.cluster[cluster.origin] + (hasOwnRoute(cluster) ? ROWS.routed : "");
}

/** Whether a connection of ours leads there, which can be lost and made anew. */
export function hasOwnRoute({ route }: Cluster): boolean {
  return route !== null && route.kind !== "direct";
}

/** "1 h 20 min left"; "" for what has no end. */
export function timeLeft(time_left_s: number | null, age_s: number): string {
  if (time_left_s === null) {
    return "";
  }
  const left = time_left_s - age_s;
  return left > 0 ? `${duration(Math.round(left))} left` : "its time is up";
}

function lookOf({ state, route }: Cluster): Look {
  return (route === null ? undefined : ROUTE_LOOKS[route.state]) ?? LOOKS[state];
}

function viaOf(route: Route | null): string {
  return route === null || route.via === "" ? "" : plain(`through ${route.via}`);
}

function routeLines(route: Route | null): string[] {
  if (route === null || route.kind === "direct") {
    return [];
  }
  return [
    `Through ${route.via}: ${route.state}`,
    route.sentence,
    ...(route.message === "" ? [] : ["The last it said:", ...route.message.split(/\r?\n/)]),
  ];
}
