// The suites of `npm test`, and the requirements of each.
import { environments, interpreter, makeEnvironment } from "./environments.mjs";
import { makeNsys } from "./nsys.mjs";
import { makeBrowser, makeBundle, makeEditor, makeLab, makeNodePackages } from "./packages.mjs";
import { join } from "node:path";
import { root } from "./paths.mjs";
import { must } from "./run.mjs";

const SLOW = [
  "real_ray",
  "lab",
  "lab_ray",
  "old_ray",
  "nsys",
  "packaging",
  "nvim_dap",
  "torch_ranks",
];
const FAST = SLOW.map((mark) => `not ${mark}`).join(" and ");
// They have suites of their own: `check` runs the first two; the others start real debuggers and sshd, or real runs,
// inference servers and agents, or inspect processes and reports.
const CHECKED = ["tests/layers", "tests/documents"];
const PROCESSES = ["tests/remote/injected", "tests/routes"];
const PROGRAMS = ["tests/runs", "tests/rollouts", "tests/engine"];
const LOOKS = [
  "tests/remote/inspecting",
  "tests/remote/sampling",
  "tests/programs_same",
  "tests/profile/reports",
];
// Suites of real Ray that start jobs, and programs of their own.
const RAY_JOBS = ["tests/observe/hangs", "tests/runs", "tests/remote/inspecting"];
// The newest VS Code, and the one that Cursor is built on.
const NEWEST = "1.139";
const OLDEST = "1.105";

/**
 * The requirements of suites, by name: how to make each, and which others come first.
 * All are started together, in this order, in one lane per source of downloads.
 */
export const needs = {
  python: { lane: "python", make: (log) => makeEnvironment("dev", log) },
  workers: { lane: "python", make: makeWorkers },
  packages: { lane: "node", make: makeNodePackages },
  bundle: { lane: "node", make: makeBundle, after: ["packages"] },
  browser: { lane: "debian", make: makeBrowser },
  lab: { lane: "debian", make: makeLab },
  "editor 1.139": { lane: "node", make: (log) => makeEditor("1.139", log) },
  nsys: { lane: "debian", make: makeNsys },
  "old-ray": { lane: "python", make: (log) => makeEnvironment("old-ray", log) },
  vsix: { lane: "python", make: makeVsix, after: ["packages", "bundle"] },
  "editor 1.105": { lane: "node", make: (log) => makeEditor("1.105", log) },
  engine: { lane: "python", make: (log) => makeEnvironment("engine", log) },
  proofs: { lane: "python", make: (log) => makeEnvironment("proofs", log) },
};

async function makeWorkers(log) {
  const names = Object.keys(environments).filter((name) => name.startsWith("worker-"));
  for (const name of names) await makeEnvironment(name, log);
}

async function makeVsix(log) {
  log("packing the .vsix for linux-x64 and linux-arm64");
  await must("node", [join(root, "scripts", "package.mjs")], { cwd: root, limitMs: 1_800_000 });
}

/**
 * `lane` decides what a suite runs beside (lanes.mjs): "first" runs before the others, one "lab" runs at a time, and
 * "common" has the longest first, so that none of them is left alone at the end.
 * `kind` decides how the results are read: "pytest" and "node" write JUnit files, a "script" prints
 * `N passed, N failed` at its end.  With `secondTry`, for suites that drive a real editor, cluster or site, the failed
 * tests run once more (second_tries.mjs).  One that is `onlyByName` belongs to the matrix before a release.
 */
export const suites = [
  script("check", ["python", "packages"], ["scripts/check.mjs"], { lane: "first" }),
  {
    name: "unit (TypeScript)",
    kind: "node",
    lane: "first",
    needs: ["python", "packages", "bundle"],
    command: ({ junit }) => [process.execPath, ["scripts/unit.mjs", "--junit", junit]],
  },
  pytest("real Ray", ["python", "packages", "proofs"], "real_ray", {
    ignore: RAY_JOBS,
    secondTry: true,
  }),
  pytest("real Ray jobs", ["python", "packages", "proofs"], "real_ray", {
    folders: RAY_JOBS,
    secondTry: true,
  }),
  editor("windows", NEWEST),
  pytest("unit (Python)", ["python", "workers"], FAST, {
    ignore: [...CHECKED, "tests/adapter", ...PROCESSES, ...PROGRAMS, ...LOOKS],
  }),
  pytest("looks", ["python", "workers"], FAST, { folders: LOOKS }),
  pytest("programs", ["python", "workers", "engine"], FAST, { folders: PROGRAMS }),
  editor("debugging", NEWEST),
  editor("host", NEWEST),
  editor("host", OLDEST, { onlyByName: true }),
  editor("runs", NEWEST, { more: ["engine"] }),
  // Both mostly wait for processes, so that they run beside each other in half of the time.
  pytest("adapter", ["python", "workers", "packages"], FAST, { folders: ["tests/adapter"] }),
  pytest("processes", ["python", "workers", "packages"], FAST, { folders: PROCESSES }),
  script("pages", ["python", "packages", "bundle", "browser"], ["tests/vscode/pages.mjs"]),
  editor("profiling", NEWEST, { more: ["nsys"] }),
  pytest("nsys", ["python", "nsys"], "nsys", { secondTry: true }),
  pytest("old Ray", ["python", "old-ray"], "old_ray", { secondTry: true }),
  editor("proofs", NEWEST, { more: ["proofs"] }),
  pytest("hangs", ["python", "proofs", "engine"], "torch_ranks"),
  editor("translations", NEWEST),
  editor("inspecting", NEWEST),
  editor("rollouts", NEWEST, { more: ["proofs", "engine"] }),
  editor("stuck", NEWEST, { more: ["proofs"] }),
  editor("debugging", OLDEST),
  pytest("packaging", ["python", "vsix", "editor 1.139"], "packaging"),
  script("demo", ["python", "bundle", "browser", "editor 1.139"], ["tests/demo/demo.mjs"], {
    secondTry: true,
  }),
  // The lab mostly waits: for links that are cut, for connections that time out.
  pytest("lab", ["python", "lab", "engine"], "lab", { lane: "lab", secondTry: true }),
  pytest("lab Ray", ["python", "lab", "nsys"], "lab_ray", {
    lane: "lab",
    secondTry: true,
  }),
  editor("site", NEWEST, { more: ["lab"], lane: "lab" }),
];

/** The editor's suites of each area; `tests/<area>` has its other tests. */
const AREAS = {
  clusters: ["debugging"],
  debug: ["debugging"],
  runs: ["runs"],
  profile: ["profiling"],
  observe: ["stuck", "inspecting"],
  rollouts: ["rollouts"],
  doctor: ["host"],
};
export const areas = Object.keys(AREAS);

/** The suites of one area: its unit tests in both languages, and its stories in the newest editor. */
export function suitesOf(area) {
  const stories = AREAS[area].map((name) => `${name} ${NEWEST}`);
  return [
    {
      ...suites.find(({ name }) => name === "unit (TypeScript)"),
      command: ({ junit }) => [
        process.execPath,
        ["scripts/unit.mjs", `tests/${area}/`, "--junit", junit],
      ],
    },
    pytest(`${area} (Python)`, ["python", "workers", "engine"], FAST, {
      folders: [`tests/${area}`],
    }),
    ...suites.filter(({ name }) => stories.includes(name)),
  ];
}

/** A story ends at its first wait or test that takes too long. */
function editor(suite, version, { more = [], lane = "common", onlyByName } = {}) {
  return script(
    `${suite} ${version}`,
    ["python", "bundle", "browser", `editor ${version}`, ...more],
    [`tests/vscode/${suite}.mjs`, "--vscode", version],
    { lane, secondTry: true, onlyByName },
  );
}

function script(name, needs, command, options = {}) {
  const { lane = "common", secondTry = false, onlyByName = false } = options;
  return {
    name,
    kind: "script",
    lane,
    needs,
    secondTry,
    onlyByName,
    command: () => [process.execPath, command],
  };
}

function pytest(name, needs, marks, options = {}) {
  const { lane = "common", ignore = [], folders = [], secondTry = false } = options;
  return {
    name,
    kind: "pytest",
    lane,
    needs,
    secondTry,
    command: ({ junit, cacheFolder, lastFailed }) => [
      interpreter("dev"),
      [
        ...["-m", "pytest", "-q", "--no-header", "--tb=short", "--durations=5", "-m", marks],
        ...["-o", `cache_dir=${cacheFolder}`, "--junitxml", junit],
        ...ignore.map((folder) => `--ignore=${folder}`),
        ...folders,
        ...(lastFailed ? ["--last-failed", "--last-failed-no-failures=none"] : []),
      ],
    ],
  };
}
