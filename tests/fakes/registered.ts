// A feature, registered anew for each test of a file on a sidecar and an editor of its own.
import { afterEach, beforeEach } from "node:test";

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

/** Runs and what starts them by a form or by launch.json. */
export function registerRuns(parts: Parts): readonly Registered[] {
  const feature = runs.register(parts);
  return [...feature.owned, ...presets.register(parts, feature)];
}
