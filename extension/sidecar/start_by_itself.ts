/** Starts the sidecar without being asked once there is a reason to. */

import type { Disposable } from "../common/disposables";
import type { Parts } from "../parts";
import { setting } from "../settings";
import { ownProcesses, reasonToStart } from "./wanted";

const REMEMBERED = "eagleray.hadCluster";
/** A look costs a few milliseconds; a cluster that was just started may be seen this much later. */
const LOOK_AGAIN_MS = 15_000;

export function startByItself(parts: Parts): Disposable[] {
  const { workspaceState } = parts.context;
  let timer: NodeJS.Timeout | undefined;
  const look = async (): Promise<void> => {
    const reason = await reasonToStart({
      environ: process.env,
      remembered: workspaceState.get<boolean>(REMEMBERED) ?? false,
      discovery: setting("discovery"),
      ownProcesses,
    });
    if (parts.sidecar.state.value !== "idle") {
      return;
    }
    if (reason === undefined) {
      timer = setTimeout(() => void look(), LOOK_AGAIN_MS);
      return;
    }
    parts.log.info(`The sidecar is started: ${reason}`);
    await parts.sidecar.start();
  };
  void look();
  return [
    {
      dispose: () => {
        clearTimeout(timer);
      },
    },
    parts.clusters.onChanged(({ clusters, jobs, hosts }) => {
      const remembered = clusters.length + jobs.length + hosts.length > 0;
      if (workspaceState.get<boolean>(REMEMBERED) !== remembered) {
        void workspaceState.update(REMEMBERED, remembered);
      }
    }),
  ];
}
