/** Clusters: which there are, the way to them, adding one, and what they ask for. */

import type { Disposable } from "../../common/disposables";
import type { Parts } from "../../parts";
import { Access } from "./access";
import { Adding } from "./adding";
import { ClusterCommands } from "./commands";
import { Connecting } from "./connecting";
import { Questions } from "./questions";
import { timeWarnings } from "./time_left";
import { clustersView } from "./view";

export function register(parts: Parts): Disposable[] {
  const { context, sidecar, log } = parts;
  const access = new Access(context.secrets, context.globalState, sidecar, (line) => {
    log.warn(line);
  });
  const connecting = new Connecting(parts, access);
  const adding = new Adding(parts, connecting);
  return [
    clustersView(parts, connecting.addresses),
    new Questions(parts),
    timeWarnings(parts),
    ...new ClusterCommands(parts, access, connecting, adding).register(),
    sidecar.onStarted(() => void access.tell()),
  ];
}
