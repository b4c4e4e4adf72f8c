/** Paths of the worker and of this machine, as the editor works them out. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import {
  expandedMappings,
  workerPath,
} from "../../../extension/debug/source_mapping/path_mappings";

describe("the worker's path of a local file", () => {
  const mappings = [
    { remote: "/srv/app", local: "/home/me/app" },
    { remote: "/srv/one.py", local: "/home/me/two.py" },
    { remote: "/srv", local: "/home/me" },
  ];
  const cases: [string, string][] = [
    ["/home/me/app/pkg/x.py", "/srv/app/pkg/x.py"],
    ["/home/me/two.py", "/srv/one.py"],
    ["/home/me/other/y.py", "/srv/other/y.py"],
    ["/home/me/app.py", "/srv/app.py"],
    ["/usr/lib/z.py", "/usr/lib/z.py"],
  ];
  for (const [local, remote] of cases) {
    it(`of ${local} is ${remote}`, () => {
      assert.equal(workerPath(local, mappings), remote);
    });
  }
});

describe("the setting pathMappings", () => {
  const expanded = (local: unknown): string[] =>
    (
      expandedMappings({ "*": [{ remote: "/r", local } as never] }, "/ws $& ñ", "/home/me")["*"] ??
      []
    ).map((pair) => pair.local);

  it("knows the folders that have names", () => {
    assert.deepEqual(expanded("${workspaceFolder}/src"), ["/ws $& ñ/src"]);
    assert.deepEqual(expanded("${userHome}/src"), ["/home/me/src"]);
    assert.deepEqual(expanded("~/src"), ["/home/me/src"]);
    assert.deepEqual(expanded("/a/~b"), ["/a/~b"]);
  });

  it("passes over invalid mappings", () => {
    assert.deepEqual(expanded(""), []);
    assert.deepEqual(expanded(7), []);
    assert.deepEqual(expanded(undefined), []);
  });
});
