/** Clusters: which there are, how they do, adding one, and its token. */

import type { Disposable } from "../../common/disposables";
import type { Parts } from "../../parts";
import { ClusterCommands } from "./commands";
import { Tokens } from "./tokens";
import { clustersView } from "./view";

export function register(parts: Parts): Disposable[] {
  const { context, sidecar, log } = parts;
  const tokens = new Tokens(context.secrets, context.globalState, sidecar, (line) => {
    log.warn(line);
  });
  const { tree, owned } = clustersView(parts);
  parts.panel.add(tree.view);
  return [
    ...owned,
    ...new ClusterCommands(parts, tokens).register(),
    sidecar.onStarted(() => void tokens.tell()),
  ];
}
