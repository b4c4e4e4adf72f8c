// A feature, registered anew for each test of a file on a sidecar and an editor of its own.
import { afterEach, beforeEach } from "node:test";

import { DebugConfigurations } from "../../extension/debug_configurations";
import { Store } from "../../extension/common/store";
import * as clusters from "../../extension/clusters";
import * as debugging from "../../extension/debug/attaching";
import { AdapterFactory } from "../../extension/debug/attaching/debug_adapter";
import { AttachConfigurations } from "../../extension/debug/attaching/attach_configurations";
import { StopTracker } from "../../extension/debug/attaching/stop_tracker";
import * as presets from "../../extension/runs/presets";
import * as rollouts from "../../extension/rollouts";
import * as runs from "../../extension/runs";
import * as workers from "../../extension/debug/workers";
import { ClustersTree } from "../../extension/debug/workers/clusters_view";
import type { App } from "../../extension/app";
import { fakeApp, settled, type FakeApp } from "./app";
import { debug, editor } from "./vscode";

interface Registered {
  dispose(): unknown;
}

/** `take` gets the app before each test, when the feature has been registered. */
export function registeredForEach(
  register: (app: App) => readonly Registered[],
  take: (fake: FakeApp) => void,
): void {
  let registered: readonly Registered[] = [];
  beforeEach(async () => {
    editor.reset();
    debug.reset();
    const fake = fakeApp();
    registered = register(fake.app);
    // As the editor does when a view is first visible, which has its rows read.
    for (const { provider } of editor.views.values()) {
      provider.getChildren();
    }
    await settled();
    take(fake);
  });
  afterEach(() => {
    for (const one of registered) {
      one.dispose();
    }
  });
}

/** Clusters with their view, which shows workers, too. */
export function registerClusters(app: App): readonly Registered[] {
  const { owned, connecting } = clusters.register(app);
  return [...owned, new ClustersTree(app, connecting)];
}

export function registerWorkers(app: App): readonly Registered[] {
  return workers.register(app, new Store<ReadonlySet<string>>(new Set()));
}

/** Runs and what starts them by a form or by launch.json, with the one part of debugging that they need. */
export function registerRuns(app: App): readonly Registered[] {
  const stops = new StopTracker();
  debug.registerDebugAdapterTrackerFactory("eagleray", stops);
  const feature = runs.register(app, stops);
  const { owned, ...ofRuns } = presets.register(app, feature);
  const factory = new AdapterFactory(app.errors);
  const attaching = new AttachConfigurations(app, factory);
  registerConfigurations(() => Promise.resolve(attaching), ofRuns);
  return [stops, ...feature.owned, ...owned];
}

/** Rollouts with the part of runs that starts what trains on a saved batch. */
export function registerRollouts(app: App): readonly Registered[] {
  const feature = runs.register(app, new StopTracker());
  return [...feature.owned, ...rollouts.register(app, feature)];
}

export function registerDebugging(app: App): readonly Registered[] {
  const { owned, configurations } = debugging.register(app);
  registerConfigurations(configurations, {
    launch: () => Promise.resolve(),
    offered: () => Promise.resolve([]),
  });
  return owned;
}

function registerConfigurations(
  ...[attaching, ofRuns]: ConstructorParameters<typeof DebugConfigurations>
): void {
  const provider = new DebugConfigurations(attaching, ofRuns);
  debug.registerDebugConfigurationProvider("eagleray", provider);
}
