// “Debug on Ray” as a button of its own: in the title of Python files that import Ray.
import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";

import { importsRay, RayPrograms } from "../../extension/runs/ray_programs";
import { editor, Uri } from "../fakes/vscode";

const IMPORTING = [
  "import ray",
  "import os, ray",
  "import numpy as np, ray as r",
  "import ray.train.torch",
  "from ray import tune",
  '"""Doc."""\r\n\r\nfrom ray.util import placement_group\r\n',
  "def main():\n    import ray\n",
];
const OTHERS = [
  "",
  "import raytracing",
  "import os as ray_free",
  "from rayon import x",
  "# import ray",
  "text = 'import ray'",
  "from .ray import x",
  "import my.ray",
];

for (const source of IMPORTING) {
  test(`${JSON.stringify(source)} imports Ray`, () => {
    assert.equal(importsRay(source), true);
  });
}

for (const source of OTHERS) {
  test(`${JSON.stringify(source)} does not import Ray`, () => {
    assert.equal(importsRay(source), false);
  });
}

test("a long list of imports is read in proportion to its length", () => {
  assert.equal(importsRay(`import ${"a as b, ".repeat(50_000)}c`), false);
});

let programs: RayPrograms | undefined;
const sources = new Map<string, string>();

function visible(...paths: readonly string[]): void {
  editor.visible = paths.map((path) => ({
    document: {
      uri: Uri.file(path),
      languageId: path.endsWith(".py") ? "python" : "shellscript",
      getText: () => sources.get(path) ?? "",
    },
  }));
  editor.visibleChanged.fire(undefined);
}

const listed = (): unknown => editor.contextKeys["eagleray.rayPrograms"];

beforeEach(() => {
  editor.reset();
  sources.clear();
  mock.timers.enable({ apis: ["setTimeout"] });
  programs = new RayPrograms();
});
afterEach(() => {
  programs?.dispose();
  mock.timers.reset();
});

test("the visible programs that import Ray are listed, each once", () => {
  sources.set("/w/a.py", "import ray").set("/w/b.py", "import os").set("/w/c.sh", "import ray");
  visible("/w/a.py", "/w/b.py", "/w/c.sh", "/w/a.py");
  assert.deepEqual(listed(), ["/w/a.py"]);
  visible("/w/b.py");
  assert.deepEqual(listed(), []);
});

test("an import that is typed counts a moment later", () => {
  visible("/w/a.py");
  sources.set("/w/a.py", "import ray");
  editor.typed.fire({ document: { languageId: "python" } });
  assert.equal(listed(), undefined);
  mock.timers.tick(500);
  assert.deepEqual(listed(), ["/w/a.py"]);
});
