/** Debug configurations that attach: to the worker that they name, before the session of the editor begins. */

import * as vscode from "vscode";

import type { App } from "../../app";
import { EaglerayError } from "../../common/errors";
import { plain } from "../../common/texts";
import { COMMANDS, DEBUG_TYPE } from "../../contributions";
import { longWork } from "../../dialogs";
import { workspaceFolders } from "../../workspace";
import { ID_OF } from "../../clusters/messages";
import { LocalFileQuestion } from "../source_mapping/local_file_question";
import { workerName } from "../workers/names";
import type { AdapterFactory } from "./debug_adapter";
import { ATTACH, type Attachment } from "./messages";
import { targetOf, UNLESS_TAKEN, waiting, type Target } from "./model";
import { RestartedAgents } from "./restarted_agents";
import { StopPrompt } from "./stop_prompt";
import { pickWaiting, waitingNow } from "./worker_picker";

/** When VS Code opens the Debug Console, unless its setting or a configuration says otherwise. */
const CONSOLE_DEFAULT = "openOnFirstSessionStart";

/**
 * Every session goes through here, from a click and from launch.json alike.
 *
 * The adapter attaches to the worker before the editor's session begins: a failure is an error of the
 * catalogue and leaves the worker paused, and a session that doesn't begin leaves it held.
 */
export class AttachConfigurations {
  private readonly localFiles: LocalFileQuestion;

  constructor(
    private readonly app: App,
    private readonly factory: AdapterFactory,
  ) {
    this.localFiles = new LocalFileQuestion(app);
    for (const tracker of [new RestartedAgents(app, factory), new StopPrompt(app)]) {
      app.context.subscriptions.push(
        vscode.debug.registerDebugAdapterTrackerFactory(DEBUG_TYPE, tracker),
      );
    }
  }

  /** F5 without a launch.json: attaches to a paused worker if there is one; else offers to start a program. */
  async withoutLaunchJson(): Promise<vscode.DebugConfiguration | undefined> {
    const listed = await this.app.errors.shown("attaching", () => waitingNow(this.app));
    if (listed === undefined) {
      return undefined;
    }
    if (listed.length > 0) {
      return {
        type: DEBUG_TYPE,
        request: "attach",
        name: vscode.l10n.t("Ray: attach to a paused worker"),
      };
    }
    // The editor itself shows nothing for a configuration that is given up.
    void offerRun();
    return undefined;
  }

  /** Attaches, and asks which local file the worker is stopped in where that isn't known. */
  async resolved(
    config: vscode.DebugConfiguration,
  ): Promise<vscode.DebugConfiguration | undefined> {
    const attached = await this.app.errors.shown("attaching", () => this.attach(config));
    return attached && (await this.localFiles.completed(attached));
  }

  private async attach(
    config: vscode.DebugConfiguration,
  ): Promise<vscode.DebugConfiguration | undefined> {
    const target = await this.target(config);
    const attached = target && (await this.attached(target, config[UNLESS_TAKEN] === true));
    if (!attached) {
      return undefined;
    }
    this.factory.allow(attached.socket);
    const chosen = config["internalConsoleOptions"] as unknown;
    return {
      ...configurationOf(config, attached),
      internalConsoleOptions: chosen ?? this.consoleOptions(attached.worker_id),
    };
  }

  /** The Debug Console doesn't cover the output of a run, unless the user's setting says when it opens. */
  private consoleOptions(worker: string): string | undefined {
    const ofUser = vscode.workspace.getConfiguration("debug").get<string>("internalConsoleOptions");
    const isDefault = (ofUser ?? CONSOLE_DEFAULT) === CONSOLE_DEFAULT;
    const { runs } = this.app.runs.value;
    const isOfRun = runs.some(({ workers }) =>
      workers.some(({ worker_id }) => worker_id === worker),
    );
    return isOfRun && isDefault ? "neverOpen" : undefined;
  }

  /** Undefined for a worker of another window, where that is not to be disturbed. */
  private async attached(target: Target, unlessTaken: boolean): Promise<Attachment | undefined> {
    try {
      return await this.request(target, unlessTaken);
    } catch (error) {
      if (error instanceof EaglerayError && error.code === "worker-taken") {
        this.app.log.info(`not attached automatically: ${error.message}`);
        return undefined;
      }
      throw error;
    }
  }

  private request(target: Target, unlessTaken: boolean): Promise<Attachment> {
    const params = { ...target, workspace_folders: workspaceFolders(), unless_taken: unlessTaken };
    return longWork(vscode.l10n.t("Attaching"), (options) =>
      this.app.sidecar.request(ATTACH, params, options),
    );
  }

  /** The choice of "Select and Start Debugging" while workers wait: the only one, or a list of them. */
  offered(): vscode.DebugConfiguration[] {
    const [first, ...others] = waiting(this.app.paused.value);
    if (first === undefined) {
      return [];
    }
    const name =
      others.length === 0
        ? vscode.l10n.t("Attach to {0}", workerName(first))
        : vscode.l10n.t("Attach to paused worker…");
    const target = others.length === 0 ? targetOf(first) : {};
    return [{ type: DEBUG_TYPE, request: "attach", name: plain(name), ...target }];
  }

  /**
   * 1. Both are named.  2. Only the worker: the cluster that lists it, else the only cluster there is.
   * 3. No worker: the user picks one.
   */
  private async target(config: vscode.DebugConfiguration): Promise<Target | undefined> {
    const cluster = text(config["cluster"]);
    const worker = text(config["worker"]);
    if (cluster && worker) {
      return { cluster, worker };
    }
    if (worker) {
      return { cluster: await this.clusterOf(worker), worker };
    }
    if (!cluster) {
      return await pickWaiting(await waitingNow(this.app));
    }
    // The list has the ids of clusters; an address can be written in several ways.
    const { cluster: id } = await this.app.sidecar.request(ID_OF, { cluster });
    return await pickWaiting(await waitingNow(this.app, (worker) => worker.cluster === id));
  }

  private async clusterOf(worker: string): Promise<string> {
    const listed = await waitingNow(
      this.app,
      ({ worker_id, name }) => worker_id.startsWith(worker) || name === worker,
    );
    const named = new Set(listed.map(({ cluster }) => cluster));
    const clusters =
      named.size > 0 ? [...named] : this.app.clusters.value.clusters.map((cluster) => cluster.id);
    const [only] = clusters;
    if (only === undefined || clusters.length > 1) {
      throw new EaglerayError(
        "unknown-cluster",
        vscode.l10n.t("The configuration has no cluster, and there are several."),
        vscode.l10n.t("Add “cluster”, the address of its dashboard."),
      );
    }
    return only;
  }
}

async function offerRun(): Promise<void> {
  const run = vscode.l10n.t("Debug on Ray");
  const sentence = vscode.l10n.t(
    "No worker is paused. To start the program in the editor, select Debug on Ray.",
  );
  if ((await vscode.window.showInformationMessage(sentence, run)) === run) {
    await vscode.commands.executeCommand(COMMANDS.debug);
  }
}

function text(value: unknown): string {
  return typeof value === "string" ? value.trim() : "";
}

/** The configuration of a session of ours: other features read `path`, `line` and `local` from it. */
function configurationOf(
  config: vscode.DebugConfiguration,
  attached: Attachment,
): vscode.DebugConfiguration {
  return {
    ...config,
    // Restart comes back with this configuration, to a worker that is this window's own.
    [UNLESS_TAKEN]: undefined,
    type: DEBUG_TYPE,
    request: "attach",
    name: plain(workerName(attached)),
    cluster: attached.cluster,
    worker: attached.worker_id,
    socket: attached.socket,
    path: attached.path,
    line: attached.line,
    local: attached.local,
  };
}
