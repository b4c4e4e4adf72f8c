/** Debug configurations of the type `eagleray`: completes them, and attaches to the worker they name. */

import * as vscode from "vscode";

import { EaglerayError } from "../../common/errors";
import { plain } from "../../common/texts";
import { COMMANDS, DEBUG_TYPE } from "../../contributions";
import type { Parts } from "../../parts";
import { ID_OF } from "../clusters/messages";
import type { AdapterFactory } from "./adapter_factory";
import { attachRequest } from "./attach_request";
import type { Attached } from "./messages";
import { sessionName, targetOf, UNLESS_TAKEN, waiting, type Target } from "./model";
import { pickWaiting, waitingNow } from "./pick";

type Configuration = vscode.DebugConfiguration;

/**
 * Every session goes through here, from a click and from launch.json alike.
 *
 * The adapter attaches to the worker before the editor's session begins, so a failure is told in words
 * of the catalogue and the worker waits on; a session that does not come about leaves it held.
 */
export class Configurations implements vscode.DebugConfigurationProvider {
  constructor(
    private readonly parts: Parts,
    private readonly factory: AdapterFactory,
  ) {}

  /** F5 without a launch.json: attaches to a paused worker if there is one; else says what would start a program. */
  async resolveDebugConfiguration(
    _folder: vscode.WorkspaceFolder | undefined,
    config: Configuration,
  ): Promise<Configuration | undefined> {
    if (config.type) {
      return config;
    }
    const listed = await this.parts.errors.shown("attaching", () => waitingNow(this.parts));
    if (listed === undefined) {
      return undefined;
    }
    if (listed.length > 0) {
      return { type: DEBUG_TYPE, request: "attach", name: "Ray: attach to a paused worker" };
    }
    // The editor itself says nothing of a configuration that is given up.
    void offerRun();
    return undefined;
  }

  async resolveDebugConfigurationWithSubstitutedVariables(
    _folder: vscode.WorkspaceFolder | undefined,
    config: Configuration,
  ): Promise<Configuration | undefined> {
    if (config.request === "launch") {
      return config;
    }
    return await this.parts.errors.shown("attaching", async () => {
      const target = await this.target(config);
      const attached = target && (await this.attached(target, config[UNLESS_TAKEN] === true));
      if (!attached) {
        return undefined;
      }
      this.factory.allow(attached.socket);
      return configurationOf(config, attached);
    });
  }

  /** Undefined for a worker of another window, where it is to be left alone. */
  private async attached(target: Target, unlessTaken: boolean): Promise<Attached | undefined> {
    try {
      return await attachRequest(this.parts, target, unlessTaken);
    } catch (error) {
      if (error instanceof EaglerayError && error.code === "worker-taken") {
        this.parts.log.info(`not attached to by itself: ${error.message}`);
        return undefined;
      }
      throw error;
    }
  }

  /** What "Select and Start Debugging" offers: the workers that wait now. */
  provideDebugConfigurations(): Configuration[] {
    return waiting(this.parts.paused.value).map((worker) => ({
      type: DEBUG_TYPE,
      request: "attach",
      name: plain(`Ray: ${sessionName(worker.name, worker.rank)}`),
      ...targetOf(worker),
    }));
  }

  /**
   * 1. Both are named.  2. Only the worker: the cluster that lists it, else the only cluster there is.
   * 3. No worker: the person picks one.
   */
  private async target(config: Configuration): Promise<Target | undefined> {
    const cluster = text(config["cluster"]);
    const worker = text(config["worker"]);
    if (cluster && worker) {
      return { cluster, worker };
    }
    if (worker) {
      return { cluster: await this.clusterOf(worker), worker };
    }
    if (!cluster) {
      return await pickWaiting(await waitingNow(this.parts));
    }
    // The list has the ids of clusters; a person writes an address as they like.
    const { cluster: id } = await this.parts.sidecar.request(ID_OF, { cluster });
    return await pickWaiting(await waitingNow(this.parts, (one) => one.cluster === id));
  }

  private async clusterOf(worker: string): Promise<string> {
    const listed = await waitingNow(
      this.parts,
      (one) => one.worker_id.startsWith(worker) || one.name === worker,
    );
    const named = new Set(listed.map((one) => one.cluster));
    const clusters =
      named.size > 0 ? [...named] : this.parts.clusters.value.clusters.map((one) => one.id);
    const [only] = clusters;
    if (only === undefined || clusters.length > 1) {
      throw new EaglerayError(
        "unknown-cluster",
        "The configuration does not say which cluster the worker belongs to.",
        "Add “cluster”, the address of its dashboard.",
      );
    }
    return only;
  }
}

async function offerRun(): Promise<void> {
  const run = "Run on Ray";
  const sentence = `No worker is paused. “${run}” starts the program in the editor.`;
  if ((await vscode.window.showInformationMessage(sentence, run)) === run) {
    await vscode.commands.executeCommand(COMMANDS.run);
  }
}

function text(value: unknown): string {
  return typeof value === "string" ? value.trim() : "";
}

/** What a session of ours carries: other features read `path`, `line` and `local` from it. */
function configurationOf(config: Configuration, attached: Attached): Configuration {
  return {
    ...config,
    // Restart comes back with this configuration, to a worker that is this window's own.
    [UNLESS_TAKEN]: undefined,
    type: DEBUG_TYPE,
    request: "attach",
    name: plain(sessionName(attached.name, attached.rank)),
    cluster: attached.cluster,
    worker: attached.worker_id,
    socket: attached.socket,
    path: attached.path,
    line: attached.line,
    local: attached.local,
  };
}
