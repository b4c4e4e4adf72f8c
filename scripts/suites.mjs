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
// They have suites of their own: `check` runs the first two, the others start real debuggers and sshd, or real runs,
// inference servers and agents.
const CHECKED = ["tests/layers", "tests/documents"];
const PROCESSES = ["tests/adapter", "tests/injected", "tests/routes"];
const PROGRAMS = ["tests/runs", "tests/inference", "tests/rollouts", "tests/engine"];
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
  await must("node", [join(root, "scripts", "package.mjs")], { cwd: root, limitMs: 600_000 });
}

/**
 * `lane` decides what a suite runs beside (lanes.mjs): "first" runs before the others, one "lab" runs at a time, and
 * "common" has the longest first, so that none of them is left alone at the end.
 * `kind` decides how the results are read: "pytest" and "node" write JUnit files, a "script" prints
 * `N passed, N failed` at its end.  With `secondTry`, for suites that drive a real editor, cluster or site, the failed
 * tests run once more (second_tries.mjs).  One that is `onlyByName` belongs to the matrix before a release.
 */
export const suites = [
  script("check", ["python", "packages"], ["scripts/check.mjs"], {
    lane: "first",
    minutes: 8,
  }),
  {
    name: "unit (TypeScript)",
    kind: "node",
    lane: "first",
    needs: ["python", "packages", "bundle"],
    minutes: 5,
    command: ({ junit }) => [process.execPath, ["scripts/unit.mjs", "--junit", junit]],
  },
  pytest("real Ray", ["python", "packages", "proofs"], "real_ray", {
    minutes: 20,
    secondTry: true,
  }),
  editor("windows", NEWEST),
  pytest("unit (Python)", ["python", "workers"], FAST, {
    minutes: 15,
    ignore: [...CHECKED, ...PROCESSES, ...PROGRAMS],
  }),
  pytest("programs", ["python", "workers", "engine"], FAST, { minutes: 15, folders: PROGRAMS }),
  editor("host", NEWEST, { minutes: 15 }),
  editor("host", OLDEST, { minutes: 15, onlyByName: true }),
  editor("runs", NEWEST, { more: ["engine"] }),
  pytest("processes", ["python", "workers", "packages"], FAST, { minutes: 15, folders: PROCESSES }),
  script("pages", ["python", "packages", "bundle", "browser"], ["tests/vscode/pages.mjs"], {
    minutes: 10,
  }),
  editor("profiling", NEWEST, { more: ["nsys"] }),
  pytest("nsys", ["python", "nsys"], "nsys", { minutes: 10, secondTry: true }),
  pytest("old Ray", ["python", "old-ray"], "old_ray", { minutes: 10, secondTry: true }),
  editor("proofs", NEWEST, { more: ["proofs"] }),
  pytest("hangs", ["python", "proofs", "engine"], "torch_ranks", { minutes: 10 }),
  editor("panel", NEWEST),
  editor("translations", NEWEST),
  editor("inspecting", NEWEST),
  editor("rollouts", NEWEST, { more: ["proofs", "engine"] }),
  editor("keys", NEWEST),
  editor("stuck", NEWEST, { more: ["proofs"] }),
  editor("debugging", NEWEST),
  editor("debugging", OLDEST),
  pytest("packaging", ["python", "vsix", "editor 1.139"], "packaging", { minutes: 10 }),
  script("demo", ["python", "bundle", "browser", "editor 1.139"], ["tests/demo/demo.mjs"], {
    minutes: 10,
    secondTry: true,
  }),
  // The lab mostly waits: for links that are cut, for connections that time out.
  pytest("lab", ["python", "lab", "engine"], "lab", { lane: "lab", minutes: 15, secondTry: true }),
  pytest("lab Ray", ["python", "lab", "nsys"], "lab_ray", {
    lane: "lab",
    minutes: 15,
    secondTry: true,
  }),
  editor("site", NEWEST, { more: ["lab"], lane: "lab" }),
];

/** A story ends at its first wait or test that takes too long; `minutes` is for everything else that may hang. */
function editor(suite, version, { more = [], lane = "common", minutes = 8, onlyByName } = {}) {
  return script(
    `${suite} ${version}`,
    ["python", "bundle", "browser", `editor ${version}`, ...more],
    [`tests/vscode/${suite}.mjs`, "--vscode", version],
    { lane, minutes, secondTry: true, onlyByName },
  );
}

function script(name, needs, command, options) {
  const { lane = "common", minutes, secondTry = false, onlyByName = false } = options;
  return {
    name,
    kind: "script",
    lane,
    needs,
    minutes,
    secondTry,
    onlyByName,
    command: () => [process.execPath, command],
  };
}

function pytest(name, needs, marks, options) {
  const { lane = "common", minutes, ignore = [], folders = [], secondTry = false } = options;
  return {
    name,
    kind: "pytest",
    lane,
    needs,
    minutes,
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
