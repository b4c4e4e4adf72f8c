// Which Python runs the sidecar: the order of the search, and what is never executed.
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  findPython,
  type ProbeResult,
  type PythonSearchInput,
} from "../../extension/sidecar/interpreter";

interface Machine extends Partial<
  Omit<PythonSearchInput, "executable" | "names" | "probe" | "log">
> {
  /** The files that can be executed, and what each says of itself. */
  readonly pythons: Readonly<Record<string, ProbeResult>>;
  readonly links?: Readonly<Record<string, string>>;
  readonly folders?: Readonly<Record<string, readonly string[]>>;
}

const GOOD: ProbeResult = { version: "3.11.2", tag: "cp311" };
const OLD: ProbeResult = { unusable: "Python 3.8.1; 3.10 or newer is needed" };

async function search(machine: Machine): Promise<{
  found: string | undefined;
  executed: string[];
  log: string[];
}> {
  const executed: string[] = [];
  const log: string[] = [];
  const found = await findPython({
    setting: "",
    environ: {},
    home: "/home/me",
    extensionFolder: "/ext",
    workspaceFolders: [],
    trusted: true,
    activeEnvironment: () => Promise.resolve(undefined),
    ...machine,
    executable: (file) =>
      Promise.resolve(file in machine.pythons ? (machine.links?.[file] ?? file) : undefined),
    names: (folder) => Promise.resolve(machine.folders?.[folder] ?? []),
    probe: (python) => {
      executed.push(python);
      return Promise.resolve(machine.pythons[python] ?? { unusable: "?" });
    },
    log: (line) => log.push(line),
  });
  return { found: found?.python, executed, log };
}

const EVERYWHERE: Machine = {
  setting: "~/chosen/python",
  environ: {
    VIRTUAL_ENV: "/venv",
    CONDA_PREFIX: "/conda",
    PATH: "relative:/usr/bin:/usr/local/bin",
  },
  workspaceFolders: ["/ws"],
  activeEnvironment: () => Promise.resolve("/picked/bin/python"),
  folders: { "/home/me/.local/share/uv/python": ["cpython-3.11.9-linux", "cpython-3.9.1-linux"] },
  pythons: Object.fromEntries(
    [
      "/home/me/chosen/python",
      "/ext/.venv/bin/python",
      "/picked/bin/python",
      "/venv/bin/python",
      "/conda/bin/python",
      "/ws/.venv/bin/python",
      "/usr/local/bin/python3.13",
      "/usr/bin/python3.11",
      "/usr/bin/python3",
      "/home/me/miniforge3/bin/python",
      "/home/me/.local/share/uv/python/cpython-3.11.9-linux/bin/python3",
    ].map((file) => [file, OLD]),
  ),
};

test("all candidates, in their order", async () => {
  const { found, executed } = await search(EVERYWHERE);
  assert.equal(found, undefined);
  assert.deepEqual(executed, Object.keys(EVERYWHERE.pythons));
});

for (const file of Object.keys(EVERYWHERE.pythons)) {
  test(`the first that can be used is taken: ${file}`, async () => {
    const { found } = await search({
      ...EVERYWHERE,
      pythons: { ...EVERYWHERE.pythons, [file]: GOOD },
    });
    assert.equal(found, file);
  });
}

test("the log says per candidate why it was passed over, and what was taken", async () => {
  const pythons = { "/venv/bin/python": OLD, "/usr/bin/python3": GOOD };
  const { log } = await search({ environ: { VIRTUAL_ENV: "/venv", PATH: "/usr/bin" }, pythons });
  assert.deepEqual(log, [
    "Python: 2 checkout: /ext/.venv/bin/python: not there, or not executable",
    "Python: 3 VIRTUAL_ENV: /venv/bin/python: Python 3.8.1; 3.10 or newer is needed",
    "Python: 5 PATH: /usr/bin/python3: Python 3.11.2, taken",
  ]);
});

/** name, what in an untrusted workspace /ws would be executed by a careless search */
const TRAPS: readonly (readonly [string, Machine])[] = [
  ["the workspace's .venv", { pythons: { "/ws/.venv/bin/python": GOOD } }],
  ["the setting", { setting: "/ws/python", pythons: { "/ws/python": GOOD } }],
  [
    "an active environment",
    { environ: { VIRTUAL_ENV: "/ws/env" }, pythons: { "/ws/env/bin/python": GOOD } },
  ],
  ["PATH", { environ: { PATH: "/ws/bin" }, pythons: { "/ws/bin/python3": GOOD } }],
  [
    "a folder whose name begins with two dots",
    { environ: { PATH: "/ws/..bin" }, pythons: { "/ws/..bin/python3": GOOD } },
  ],
  [
    "a link into it",
    {
      environ: { PATH: "/bin" },
      pythons: { "/bin/python3": GOOD },
      links: { "/bin/python3": "/ws/evil" },
    },
  ],
];

for (const [name, machine] of TRAPS) {
  test(`untrusted: nothing of the workspace is executed: ${name}`, async () => {
    const { found, executed, log } = await search({
      ...machine,
      trusted: false,
      workspaceFolders: ["/ws"],
    });
    assert.equal(found, undefined);
    assert.deepEqual(executed, []);
    assert.match(log.join("\n"), /lies in a workspace that is not trusted/);
  });
}

test("untrusted: a neighbour whose name only begins alike is not in the workspace", async () => {
  const pythons = { "/ws2/bin/python3": GOOD };
  const machine = { environ: { PATH: "/ws2/bin" }, pythons, trusted: false };
  assert.equal((await search({ ...machine, workspaceFolders: ["/ws"] })).found, "/ws2/bin/python3");
});
