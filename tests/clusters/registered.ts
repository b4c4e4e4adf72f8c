// The feature, registered anew for each test of a file on a sidecar and an editor of its own.
import { afterEach, beforeEach } from "node:test";

import { register } from "../../extension/features/clusters";
import { fakeParts, type FakeParts } from "../fakes/parts";
import { editor } from "../fakes/vscode";

/** `take` gets the parts before each test, when the feature has been registered. */
export function registeredForEach(take: (fake: FakeParts) => void): void {
  let registered: readonly { dispose(): unknown }[] = [];
  beforeEach(() => {
    editor.reset();
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
