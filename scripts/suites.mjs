// The suites of `npm test`, the fastest first, and what each one needs to be there.
import { environments, interpreter, makeEnvironment } from "./environments.mjs";
import { makeNsys } from "./nsys.mjs";
import { makeBrowser, makeBundle, makeEditor, makeLab, makeNodePackages } from "./packages.mjs";
import { join } from "node:path";
import { root } from "./places.mjs";
import { must } from "./run.mjs";

const SLOW = ["real_ray", "lab", "lab_ray", "old_ray", "proofs", "nsys", "packaging"];
const FAST = SLOW.map((mark) => `not ${mark}`).join(" and ");
// What has its own suite: `check` runs the first two, the others start real debuggers, programs and sshd.
const CHECKED = ["tests/layers", "tests/documents"];
const PROCESSES = ["tests/adapter", "tests/in_cluster_run", "tests/routes"];
// The newest VS Code, and the one that Cursor is made of.
const NEWEST = "1.139";
const OLDEST = "1.105";

/**
 * What suites need, by name: how to make it and what must be there before.
 * All of it is started at once, in this order, in one lane per source of downloads.
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
 * Suites of the same `lane` run one after the other; "first" comes before the others, which wait more
 * than they compute and so run side by side.  A lane that is done takes over the last one of another, but that
 * of the lab only where there are processors for three.
 * `kind` says how the results are read: "pytest" and "node" write JUnit files, a "script" prints
 * `N passed, N failed` at its end.  What fails in a suite that is `real` is run once more by itself.
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
  pytest("real Ray", ["python", "packages"], "real_ray", {
    lane: "python",
    minutes: 28,
    real: true,
  }),
  pytest("unit (Python)", ["python", "workers"], FAST, {
    lane: "python",
    minutes: 15,
    real: true,
    ignore: [...CHECKED, ...PROCESSES],
  }),
  pytest("nsys", ["python", "nsys"], "nsys", { lane: "python", minutes: 10, real: true }),
  // The lab mostly waits: for links that are cut, connections that are given up.
  pytest("lab", ["python", "lab"], "lab", { lane: "lab", minutes: 15, real: true }),
  pytest("lab Ray", ["python", "lab"], "lab_ray", { lane: "lab", minutes: 15, real: true }),
  ...["host", "mouse", "keyboard"].flatMap((suite) => [
    editor(suite, NEWEST),
    editor(suite, OLDEST),
  ]),
  editor("runs", NEWEST),
  editor("proofs", NEWEST, { more: ["proofs"] }),
  editor("site", NEWEST, { more: ["lab"], lane: "lab" }),
  editor("panel", NEWEST),
  editor("profiling", NEWEST, { more: ["nsys"] }),
  editor("windows", NEWEST),
  script("demo", ["python", "bundle", "browser", "editor 1.139"], ["tests/demo/demo.mjs"], {
    lane: "python",
    minutes: 10,
    real: true,
  }),
  pytest("packaging", ["python", "vsix", "editor 1.139"], "packaging", {
    lane: "python",
    minutes: 10,
    real: true,
  }),
  pytest("old Ray", ["python", "old-ray"], "old_ray", { lane: "python", minutes: 10, real: true }),
  pytest("proofs", ["python", "proofs"], "proofs", { lane: "python", minutes: 10, real: true }),
  pytest("processes", ["python", "workers"], FAST, {
    lane: "python",
    minutes: 15,
    real: true,
    folders: PROCESSES,
  }),
];

function editor(suite, version, { more = [], lane = "editor" } = {}) {
  return script(
    `${suite} ${version}`,
    ["python", "bundle", "browser", `editor ${version}`, ...more],
    [`tests/vscode/${suite}.mjs`, "--vscode", version],
    { lane, minutes: 15, real: true },
  );
}

function script(name, needed, words, { lane, minutes, real = false }) {
  return {
    name,
    kind: "script",
    lane,
    needs: needed,
    minutes,
    real,
    command: () => [process.execPath, words],
  };
}

function pytest(name, needed, marks, { lane, minutes, real = false, ignore = [], folders = [] }) {
  return {
    name,
    kind: "pytest",
    lane,
    needs: needed,
    minutes,
    real,
    command: ({ junit, cacheFolder, lastFailed }) => [
      interpreter("dev"),
      [
        ...["-m", "pytest", "-q", "--no-header", "--durations=5", "-m", marks],
        ...["-o", `cache_dir=${cacheFolder}`, "--junitxml", junit],
        ...ignore.map((folder) => `--ignore=${folder}`),
        ...folders,
        ...(lastFailed ? ["--last-failed", "--last-failed-no-failures=none"] : []),
      ],
    ],
  };
}
