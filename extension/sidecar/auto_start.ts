/** Starts the sidecar automatically once there is a reason to. */

import { readdir, readFile, stat } from "node:fs/promises";

import type { Disposable } from "../common/disposables";
import type { App } from "../app";
import { setting } from "../settings";
import type { Verbatim } from "../common/texts";

const REMEMBERED = "eagleray.hadCluster";
/** The poll interval: a poll takes a few milliseconds, a new cluster is noticed at most this much later. */
const POLL_INTERVAL_MS = 15_000;

export function startAutomatically(app: App): Disposable[] {
  const { workspaceState } = app.context;
  let timer: NodeJS.Timeout | undefined;
  const poll = async (): Promise<void> => {
    const reason = await reasonToStart({
      environ: process.env,
      remembered: workspaceState.get<boolean>(REMEMBERED) ?? false,
      discovery: setting("discovery"),
      ownProcesses,
    });
    if (app.sidecar.state.value !== "idle") {
      return;
    }
    if (reason === undefined) {
      timer = setTimeout(() => void poll(), POLL_INTERVAL_MS);
      return;
    }
    app.log.info(`The sidecar is started: ${reason}`);
    await app.sidecar.start();
  };
  void poll();
  return [
    {
      dispose: () => {
        clearTimeout(timer);
      },
    },
    app.clusters.onChanged(({ clusters, jobs, hosts }) => {
      const remembered = clusters.length + jobs.length + hosts.length > 0;
      if (workspaceState.get<boolean>(REMEMBERED) !== remembered) {
        void workspaceState.update(REMEMBERED, remembered);
      }
    }),
  ];
}

/** The inputs of the decision. */
export interface StartSigns {
  readonly environ: Readonly<Record<string, string | undefined>>;
  /** This workspace has shown a cluster before. */
  readonly remembered: boolean;
  readonly discovery: "own" | "off";
  /** The names of this user's processes on this machine. */
  ownProcesses(): Promise<readonly string[]>;
}

/** Ray's head node runs exactly one; the kernel gives at most 15 characters of a name (man 5 proc, comm). */
const HEAD_PROCESS = "gcs_server";

/**
 * The reason to start it now, if there is one:
 *
 * 1. this workspace has a remembered cluster;
 * 2. a variable names a dashboard: RAY_API_SERVER_ADDRESS, or RAY_ADDRESS with http;
 * 3. (unless discovery is off) a Ray head of this user runs on this machine.
 */
export async function reasonToStart(signs: StartSigns): Promise<Verbatim | undefined> {
  if (signs.remembered) {
    return "this workspace has a remembered cluster";
  }
  if ((signs.environ["RAY_API_SERVER_ADDRESS"] ?? "") !== "") {
    return "RAY_API_SERVER_ADDRESS is set";
  }
  if (/^https?:/.test(signs.environ["RAY_ADDRESS"] ?? "")) {
    return "RAY_ADDRESS names a dashboard";
  }
  if (signs.discovery === "off") {
    return undefined;
  }
  const processes = await signs.ownProcesses();
  return processes.includes(HEAD_PROCESS) ? "a Ray cluster of one’s own runs here" : undefined;
}

/** Reads Linux's /proc; elsewhere there are none, and the panel starts the sidecar when it is opened. */
export async function ownProcesses(): Promise<readonly string[]> {
  const uid = process.getuid?.();
  const entries = await readdir("/proc").catch(() => []);
  const names = entries
    .filter((entry) => /^\d+$/.test(entry))
    .map(async (pid) => {
      // A process may end between the two looks.
      try {
        const { uid: owner } = await stat(`/proc/${pid}`);
        return owner === uid ? (await readFile(`/proc/${pid}/comm`, "utf8")).trim() : "";
      } catch {
        return "";
      }
    });
  return (await Promise.all(names)).filter((name) => name !== "");
}
