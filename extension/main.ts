/** The composition root: builds the services and registers the features. */

import * as vscode from "vscode";

import { Store } from "./common/store";
import { DEBUG_TYPE } from "./contributions";
import { DebugConfigurations, initialConfigurations } from "./debug_configurations";
import { ErrorMessages } from "./error_messages";
import * as clusters from "./clusters";
import * as debugging from "./debug/attaching";
import * as doctor from "./doctor";
import * as firstRun from "./first_run";
import * as hangs from "./observe/hangs";
import * as inference from "./rollouts/servers";
import type { ListedServer } from "./rollouts/servers/messages";
import * as inspections from "./observe/look_inside";
import * as pdb from "./debug/pdb";
import * as presets from "./runs/presets";
import * as profiling from "./profile/recordings";
import * as reports from "./profile/reports";
import * as rollouts from "./rollouts";
import * as runs from "./runs";
import * as sourceMapping from "./debug/source_mapping";
import * as workers from "./debug/workers";
import { Panel, Selection } from "./panel";
import type { App } from "./app";
import { startAutomatically } from "./sidecar/auto_start";
import { prepareTerminals, setTerminalPython, sidecarCommands } from "./sidecar/commands";
import { realWorld, SidecarConnection } from "./sidecar/connection";
import { SidecarLists } from "./sidecar_lists";
import { statusBar } from "./status_bar";

/** The interface for other extensions and tests. */
export type Exported = Pick<App, "sidecar" | "clusters" | "paused">;

let connection: SidecarConnection | undefined;

export function activate(context: vscode.ExtensionContext): Exported {
  const since = performance.now();
  const log = vscode.window.createOutputChannel("Eagleray", { log: true });
  const sidecar = new SidecarConnection(
    realWorld(
      context.extensionPath,
      (line) => {
        log.info(`sidecar: ${line}`);
      },
      (python) => {
        setTerminalPython(context, python);
      },
    ),
  );
  connection = sidecar;
  const lists = new SidecarLists(sidecar, (line) => {
    log.warn(line);
  });
  const app: App = {
    context,
    log,
    sidecar,
    errors: new ErrorMessages(log),
    clusters: lists.clusters,
    paused: lists.paused,
    runs: lists.runs,
    profiled: lists.profiled,
    broughtUp: new Store<ReadonlySet<string>>(new Set()),
    addedServers: new Store<readonly ListedServer[]>([]),
    serverVariables: new Store<Readonly<Record<string, string>>>({}),
    refresh: () => lists.refresh(),
    latestRuns: () => lists.latestRuns(),
    panel: new Panel(),
    selection: new Selection(),
  };
  const clustersFeature = clusters.register(app);
  const debuggingFeature = debugging.register(app);
  const runsFeature = runs.register(app, debuggingFeature.stops);
  const presetsFeature = presets.register(app, runsFeature);
  const configurations = new DebugConfigurations(debuggingFeature.configurations, presetsFeature);
  context.subscriptions.push(
    log,
    lists,
    app.panel,
    ...sidecarCommands(app),
    ...clustersFeature.owned,
    ...workers.register(app, clustersFeature.connecting),
    ...runsFeature.owned,
    ...presetsFeature.owned,
    ...pdb.register(app),
    ...inspections.register(app),
    ...profiling.register(app),
    ...reports.register(app),
    ...hangs.register(app),
    ...inference.register(app),
    ...rollouts.register(app, runsFeature),
    ...doctor.register(app),
    ...firstRun.register(app),
    ...debuggingFeature.owned,
    vscode.debug.registerDebugConfigurationProvider(
      DEBUG_TYPE,
      configurations,
      vscode.DebugConfigurationProviderTriggerKind.Dynamic,
    ),
    vscode.debug.registerDebugConfigurationProvider(
      DEBUG_TYPE,
      { provideDebugConfigurations: initialConfigurations },
      vscode.DebugConfigurationProviderTriggerKind.Initial,
    ),
    ...sourceMapping.register(app),
    statusBar(app, debuggingFeature.inFront),
    ...startAutomatically(app),
  );
  prepareTerminals(context);
  log.info(`activated in ${Math.round(performance.now() - since)} ms`);
  return { sidecar, clusters: lists.clusters, paused: lists.paused };
}

export async function deactivate(): Promise<void> {
  await connection?.dispose();
  connection = undefined;
}
