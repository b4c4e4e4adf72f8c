// Which Python runs a program, by what is on the disk.
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  allProgramPythons,
  condaName,
  findProgramPython,
  type PythonSurroundings,
} from "../../extension/runs/program_python";

interface Given {
  readonly selected?: string;
  readonly lastSelected?: string;
  readonly setting?: string;
  readonly environ?: Readonly<Record<string, string>>;
  readonly active?: string;
  readonly workspace?: string;
  /** Prefixes of environments. */
  readonly venvs?: readonly string[];
  readonly condas?: readonly string[];
  readonly texts?: Readonly<Record<string, string>>;
  readonly own?: readonly string[];
}

const WORK = "/home/me/work";

function around(given: Given): PythonSurroundings {
  const { venvs = [], condas = [], texts = {}, own = [] } = given;
  const marks = [
    ...venvs.map((prefix) => `${prefix}/pyvenv.cfg`),
    ...condas.map((prefix) => `${prefix}/conda-meta`),
  ];
  const pythons = [...venvs, ...condas].map((prefix) => `${prefix}/bin/python`);
  return {
    selected: given.selected ?? "",
    lastSelected: given.lastSelected ?? "",
    setting: given.setting ?? "",
    environ: given.environ ?? {},
    home: "/home/me",
    workspace: given.workspace ?? WORK,
    activeEnvironment: () => Promise.resolve(given.active),
    isExecutable: (file) => Promise.resolve(pythons.includes(file)),
    exists: (file) => Promise.resolve(marks.includes(file)),
    isOwn: (file) => Promise.resolve(own.includes(file)),
    text: (file) => Promise.resolve(texts[file] ?? ""),
  };
}

const CASES: readonly (readonly [string, Given, string, string, string])[] = [
  ["nothing applies", {}, WORK, "", "PATH"],
  [
    "a selection for the folder comes before the setting",
    { selected: "/opt/mine", setting: "/opt/py" },
    WORK,
    "/opt/mine",
    "selected",
  ],
  [
    "the setting comes before the Python extension",
    { setting: "/opt/py", active: "/x/python" },
    WORK,
    "/opt/py",
    "setting",
  ],
  [
    "the setting names the folder of an environment",
    { setting: "~/envs/a", venvs: ["/home/me/envs/a"] },
    WORK,
    "/home/me/envs/a/bin/python",
    "setting",
  ],
  [
    "the setting names the workspace",
    { setting: "${workspaceFolder}/py/bin/python" },
    WORK,
    `${WORK}/py/bin/python`,
    "setting",
  ],
  [
    "the Python extension comes before .venv",
    { active: "/x/python", venvs: [`${WORK}/.venv`] },
    WORK,
    "/x/python",
    "Python extension",
  ],
  [
    "the nearest folder wins",
    { venvs: [`${WORK}/.venv`, `${WORK}/a/venv`] },
    `${WORK}/a/b`,
    `${WORK}/a/venv/bin/python`,
    "folder",
  ],
  [
    ".venv comes before env",
    { venvs: [`${WORK}/env`, `${WORK}/.venv`] },
    WORK,
    `${WORK}/.venv/bin/python`,
    "folder",
  ],
  [
    "conda environments in the folder count",
    { condas: [`${WORK}/.conda`] },
    WORK,
    `${WORK}/.conda/bin/python`,
    "folder",
  ],
  ["folders above the workspace don't count", { venvs: ["/home/me/.venv"] }, WORK, "", "PATH"],
  [
    "uv's project above the workspace counts",
    { venvs: ["/home/me/.venv"], own: ["/home/me/uv.lock"] },
    WORK,
    "/home/me/.venv/bin/python",
    "uv project",
  ],
  [
    "uv's variable names another environment",
    {
      environ: { UV_PROJECT_ENVIRONMENT: "/e" },
      venvs: ["/e"],
      own: [`${WORK}/uv.lock`],
    },
    WORK,
    "/e/bin/python",
    "uv project",
  ],
  [
    "environment.yml names an environment of conda",
    {
      condas: ["/opt/conda/envs/rl"],
      texts: {
        [`${WORK}/environment.yml`]: "name: rl # ours\n",
        "/home/me/.conda/environments.txt": "/opt/conda\n/opt/conda/envs/rl\n",
      },
    },
    WORK,
    "/opt/conda/envs/rl/bin/python",
    "environment.yml",
  ],
  [
    "the active environment comes last",
    {
      environ: { VIRTUAL_ENV: "/v", CONDA_PREFIX: "/c" },
      venvs: ["/v"],
      condas: ["/c"],
    },
    WORK,
    "/v/bin/python",
    "VIRTUAL_ENV",
  ],
  [
    "a program outside of the workspace has its own folder",
    { venvs: ["/tmp/x/.venv", `${WORK}/.venv`] },
    "/tmp/x",
    "/tmp/x/.venv/bin/python",
    "folder",
  ],
];

for (const [title, given, folder, path, source] of CASES) {
  test(`${title}: ${path || "the PATH"}`, async () => {
    assert.deepEqual(await findProgramPython(around(given), folder), { path, source });
  });
}

test("a list has every Python once, the chosen one first", async () => {
  const given = {
    active: `${WORK}/.venv/bin/python`,
    venvs: [`${WORK}/.venv`, "/v"],
    environ: { VIRTUAL_ENV: "/v", CONDA_PREFIX: "relative" },
  };
  assert.deepEqual(await allProgramPythons(around(given), WORK), [
    { path: `${WORK}/.venv/bin/python`, source: "Python extension" },
    { path: "/v/bin/python", source: "VIRTUAL_ENV" },
  ]);
});

test("an environment.yml without a plain name names nothing", () => {
  assert.equal(condaName("channels: [x]\n"), "");
  assert.equal(condaName("name: ../../x/$(y)\n"), "");
  assert.equal(condaName('name: "rl-3.11"\n'), "rl-3.11");
});
