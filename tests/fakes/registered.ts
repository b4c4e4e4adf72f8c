// A feature, registered anew for each test of a file on a sidecar and an editor of its own.
import { afterEach, beforeEach } from "node:test";

import { DebugConfigurations } from "../../extension/debug_configurations";
import * as debugging from "../../extension/features/debugging";
import { AdapterFactory } from "../../extension/features/debugging/adapter_factory";
import { AttachConfigurations } from "../../extension/features/debugging/attach_configurations";
import { StopTracker } from "../../extension/features/debugging/stop_tracker";
import * as presets from "../../extension/features/presets";
import * as runs from "../../extension/features/runs";
import type { Parts } from "../../extension/parts";
import { fakeParts, type FakeParts } from "./parts";
import { debug, editor } from "./vscode";

interface Registered {
  dispose(): unknown;
}

/** `take` gets the parts before each test, when the feature has been registered. */
export function registeredForEach(
  register: (parts: Parts) => readonly Registered[],
  take: (fake: FakeParts) => void,
): void {
  let registered: readonly Registered[] = [];
  beforeEach(() => {
    editor.reset();
    debug.reset();
    const fake = fakeParts();
    registered = register(fake.parts);
    take(fake);
  });
  afterEach(() => {
    for (const one of registered) {
      one.dispose();
    }
  });
}

/** Runs and what starts them by a form or by launch.json, with the one part of debugging that they need. */
export function registerRuns(parts: Parts): readonly Registered[] {
  const stops = new StopTracker();
  debug.registerDebugAdapterTrackerFactory("eagleray", stops);
  const feature = runs.register(parts, stops);
  const { owned, launch } = presets.register(parts, feature);
  const factory = new AdapterFactory(parts.errors);
  const attaching = new AttachConfigurations(parts, factory);
  registerConfigurations(() => Promise.resolve(attaching), launch);
  return [stops, ...feature.owned, ...owned];
}

export function registerDebugging(parts: Parts): readonly Registered[] {
  const { owned, configurations } = debugging.register(parts);
  registerConfigurations(configurations, () => Promise.resolve());
  return owned;
}

function registerConfigurations(
  ...[attaching, launch]: ConstructorParameters<typeof DebugConfigurations>
): void {
  const provider = new DebugConfigurations(attaching, launch);
  debug.registerDebugConfigurationProvider("eagleray", provider);
}
