/** The row of a cluster, in every view the same. */

import { ROWS } from "../contributions";
import type { Cluster } from "../features/clusters/messages";
import { lines, said, type RowTexts } from "./row_texts";
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
  unauthorized: { icon: "key", color: "list.warningForeground", word: "token needed" },
  "not-ray": { icon: "question", color: "list.errorForeground", word: "not Ray" },
  failing: { icon: "warning", color: "list.warningForeground", word: "failing" },
};

export function clusterTexts(cluster: Cluster): RowTexts {
  const look = LOOKS[cluster.state];
  const name = plain(cluster.name);
  const sentence = plain(cluster.sentence);
  return {
    id: `cluster ${cluster.id}`,
    label: name,
    description: sentence === "" ? look.word : sentence,
    tooltip: lines(cluster.name, cluster.id === cluster.name ? "" : cluster.id, cluster.sentence),
    spoken: said(`cluster ${name}`, look.word, sentence),
    icon: look.icon,
    ...(look.color === undefined ? {} : { color: look.color }),
    context: ROWS.cluster[cluster.origin],
    children: cluster.problems.length > 0 ? "expanded" : "none",
  };
}
