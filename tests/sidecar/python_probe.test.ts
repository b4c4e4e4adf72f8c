import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, test } from "node:test";

import { findPython } from "../../extension/sidecar/interpreter";
import { bundledLibraries, pythonSearchInput } from "../../extension/sidecar/python_probe";
import { editor, Uri } from "../fakes/vscode";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "er-py-")));
after(() => {
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  editor.reset();
});

const INSTALLED = { tags: ["cp310", "cp311", "cp312", "cp313", "cp314"] };
const PYTHON = execFileSync("python3", ["-c", "import sys; print(sys.executable)"], {
  encoding: "utf8",
}).trim();

function program(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
  return file;
}

const CASES: readonly (readonly [string, string, RegExp])[] = [
  ["says nothing", program("silent", "exit 0"), /is not a Python/],
  ["fails", program("fails", "echo broken >&2; exit 3"), /fails: .*broken/s],
  ["says something else", program("chatty", "echo hello"), /is not a Python/],
  [
    "is an old Python",
    program(
      "old",
      `echo '{"version":"3.8.1","tag":"cp38","implementation":"cpython","missing":[]}'`,
    ),
    /Python 3\.8\.1; 3\.10/,
  ],
];

for (const [name, file, why] of CASES) {
  test(`a candidate that ${name}`, async () => {
    const around = await pythonSearchInput("/ext", INSTALLED, () => undefined);
    const probed = await around.probe(file);
    assert.match("unusable" in probed ? probed.unusable : "it was taken", why);
  });
}

test("a real Python is taken, with its version and tag", async () => {
  const around = await pythonSearchInput("/ext", INSTALLED, () => undefined);
  const probed = await around.probe(PYTHON);
  assert.ok("version" in probed, JSON.stringify(probed));
  assert.match(probed.version, /^3\.1\d\.\d+/);
  assert.equal(probed.tag, `cp3${probed.version.split(".")[1] ?? ""}`);
});

test("in an untrusted workspace opened through a link, its trap is not executed", async () => {
  const workspace = join(folder, "workspace");
  mkdirSync(join(workspace, ".venv/bin"), { recursive: true });
  const sprung = join(folder, "sprung");
  const trap = program("trap", `touch "${sprung}"`);
  symlinkSync(trap, join(workspace, ".venv/bin/python"));
  writeFileSync(join(workspace, "python"), `#!/bin/sh\ntouch "${sprung}"\n`, { mode: 0o755 });
  symlinkSync(workspace, join(folder, "link"));
  editor.folders = [{ uri: Uri.file(join(folder, "link")), name: "w", index: 0 }];
  editor.trusted = false;
  editor.settings["eagleray.python"] = join(workspace, "python");
  const lines: string[] = [];
  const around = await pythonSearchInput("/ext", INSTALLED, (line) => lines.push(line));
  const found = await findPython({
    ...around,
    environ: { PATH: join(workspace, ".venv/bin") },
    home: "/nowhere",
  });
  assert.equal(found, undefined, lines.join("\n"));
  assert.throws(() => realpathSync(sprung), { code: "ENOENT" });
});

test("the libraries of an installed extension are found by their folders", async () => {
  mkdirSync(join(folder, "installed/_libs/any"), { recursive: true });
  mkdirSync(join(folder, "installed/_libs/cp311"));
  assert.deepEqual(await bundledLibraries(join(folder, "installed")), { tags: ["cp311"] });
  assert.deepEqual(await bundledLibraries(folder), { tags: [] });
});
