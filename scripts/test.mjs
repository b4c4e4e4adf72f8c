// Runs all suites but those that run only by name, the named ones, or with `--area NAME` the suites of one area, and closes
// with `N passed, N failed`.
// What only later suites need is installed in the background.  A failure in the lane "first" is found within a minute:
// suites that have started by then end, and no others start.
import { randomBytes } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";

import { interpreter } from "./environments.mjs";
import { Lanes } from "./lanes.mjs";
import { endMarked, Started } from "./leftovers.mjs";
import { cache, out, root } from "./paths.mjs";
import {
  fixedBySecondTry,
  lastLines,
  mergedResults,
  readClosingLine,
  readJunit,
  slowestFirst,
} from "./results.mjs";
import { endWithChildren, run } from "./run.mjs";
import { SecondTries } from "./second_tries.mjs";
import { areas, needs, suites, suitesOf } from "./suites.mjs";

// Only a suite that hangs takes so long: on one machine they take four times as long as on another.
const LIMIT_MIN = 50;

endWithChildren();
const started = Date.now();
const processorsBefore = processorTimes();
const runId = randomBytes(8).toString("hex");
const processes = new Started(`EAGLERAY_TEST_RUN=${runId}`);
const folder = join(out, "results");
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

const names = process.argv.slice(2);
const area = names[0] === "--area" ? names.splice(0, 2)[1] : undefined;
if (area === undefined ? process.argv[2] === "--area" : !areas.includes(area)) {
  console.error(`Name an area: ${areas.join(", ")}`);
  process.exit(2);
}
const unknown = names.filter((name) => !suites.some((suite) => suite.name.startsWith(name)));
if (unknown.length > 0) {
  console.error(
    `No suite ${unknown.join(", ")}. There are: ${suites.map((s) => s.name).join(", ")}`,
  );
  process.exit(2);
}
const named = suites.filter(({ name, onlyByName }) =>
  names.length === 0 ? !onlyByName : names.some((start) => name.startsWith(start)),
);
const selected = area === undefined ? named : suitesOf(area);
const ready = prepare(new Set(selected.flatMap((suite) => suite.needs)));
const total = { passed: 0, failed: [], skipped: [], logs: [], durations: [] };
const secondTries = new SecondTries(join(out, "second_tries.json"));
let failedFirst;
for (const suite of await new Lanes(selected, ready).run(
  runSuite,
  () => failedFirst !== undefined,
)) {
  total.failed.push(`${suite.name}: not run, since ${failedFirst} failed`);
}
await endLeftovers();
close();

/** Starts all requirements, one after the other in each lane; returns a promise for each. */
function prepare(required) {
  for (const name of [...required]) {
    for (const earlier of needs[name].after ?? []) required.add(earlier);
  }
  const lanes = new Map();
  const promises = new Map();
  for (const [name, { lane, make, after = [] }] of Object.entries(needs)) {
    if (!required.has(name)) continue;
    const start = async () => {
      await Promise.all(after.map((earlier) => promises.get(earlier)));
      const since = Date.now();
      await make((text) => log("prepare", text));
      if (Date.now() - since > 1000) log("prepare", `${name} is ready (${secondsSince(since)} s)`);
    };
    const previous = lanes.get(lane) ?? Promise.resolve();
    const promise = previous.then(start, start);
    // The suite that needs it reports the failure; until then it must not count as unhandled.
    promise.catch((error) => log("prepare", `${name} failed: ${error.message}`));
    lanes.set(lane, promise);
    promises.set(name, promise);
  }
  return promises;
}

async function runSuite(suite) {
  try {
    await Promise.all(suite.needs.map((name) => ready.get(name)));
  } catch (error) {
    total.failed.push(`${suite.name}: could not be prepared`);
    total.logs.push(`==== ${suite.name}\n${error.message}`);
    return;
  }
  const since = Date.now();
  const { results, output } = await attempts(suite);
  const { passed, failed, skipped, reasons } = results;
  total.passed += passed.length;
  total.failed.push(...failed.map((name) => `${suite.name}: ${name}${indented(reasons[name])}`));
  total.skipped.push(...skipped.map((name) => `${suite.name}: ${name}`));
  if (failed.length > 0) total.logs.push(`==== ${suite.name}\n${lastLines(output)}`);
  if (failed.length > 0 && suite.lane === "first") failedFirst = suite.name;
  const seconds = secondsSince(since);
  total.durations.push({ name: suite.name, seconds });
  log(suite.name, `${passed.length} passed, ${failed.length} failed (${seconds} s)`);
}

/** The results of a suite, after a second try of what failed where the suite has one. */
async function attempts(suite) {
  const first = await attempt(suite);
  secondTries.add(suite.name, []);
  if (!suite.secondTry || first.results.failed.length === 0) return first;
  log(suite.name, `${first.results.failed.length} failed; second try`);
  total.logs.push(`==== ${suite.name}, first try\n${lastLines(first.output)}`);
  // A story in the editor starts again from its beginning, pytest runs only the failed tests.
  const lastFailed = suite.kind === "pytest" && !first.results.crashed;
  const second = await attempt(suite, { number: 2, lastFailed });
  secondTries.add(suite.name, fixedBySecondTry(first.results, second.results));
  return {
    results: mergedResults(first.results, second.results, lastFailed),
    output: second.output,
  };
}

/** A failure's first line: the closing lines may be all that a reader gets to see of a long log. */
function indented(reason = "") {
  return reason && `\n    ${reason.slice(0, 300)}`;
}

async function attempt(suite, { number = 1, lastFailed = false } = {}) {
  const file = `${suite.name.replace(/\W+/g, "-")}-${number}`;
  const junit = join(folder, `${file}.xml`);
  const cacheFolder = join(folder, `${suite.name.replace(/\W+/g, "-")}-cache`);
  const [command, args] = suite.command({ junit, cacheFolder, lastFailed });
  const { code, output, timedOut } = await run(command, args, {
    cwd: root,
    env: { ...environment(), EAGLERAY_TEST_ATTEMPT: `${runId}-${file}` },
    onText: lines((line) => log(suite.name, line)),
    limitMs: LIMIT_MIN * 60_000,
  });
  // The time limit is its failure; leftovers of the interrupted suite are not a second one.
  if (timedOut) await endMarked(`EAGLERAY_TEST_ATTEMPT=${runId}-${file}`);
  const results = suite.kind === "script" ? readClosingLine(output) : readJunit(junit);
  const isComplete = !timedOut && results !== undefined;
  if (isComplete && (code === 0) === (results.failed.length === 0)) {
    return { results, output };
  }
  const why = timedOut ? `ran past ${LIMIT_MIN} minutes` : `ended with ${code}`;
  const partial = results ?? { passed: [], failed: [], skipped: [], reasons: {} };
  return { results: { ...partial, failed: [...partial.failed, why], crashed: true }, output };
}

/** The suites see none of the user's own Ray settings, and everything that they start carries a mark. */
function environment() {
  const env = {
    EAGLERAY_TEST_RUN: runId,
    EAGLERAY_DEV_CACHE: cache,
    EAGLERAY_SHOTS: process.env.EAGLERAY_SHOTS,
    EAGLERAY_OLD_RAY_PYTHON: interpreter("old-ray"),
    EAGLERAY_PROOFS_PYTHON: interpreter("proofs"),
    EAGLERAY_PACKED: ready.has("vsix") ? "1" : undefined,
    RAY_AUTH_MODE: "disabled",
    FORCE_COLOR: undefined,
    NO_COLOR: "1",
    PYTHONUNBUFFERED: "1",
    // Else every pytest compiles all of its tests, and what a test starts compiles the whole copy of our code.
    PYTHONDONTWRITEBYTECODE: undefined,
  };
  // Values set here win; the user's own settings of Ray and Eagleray must not reach the suites.
  for (const name of Object.keys(process.env)) {
    if (/^(RAY|EAGLERAY)_/.test(name) && !(name in env)) env[name] = undefined;
  }
  return env;
}

async function endLeftovers() {
  const left = await processes.left();
  if (left.length === 0) return;
  total.failed.push(`left behind: ${left.map(({ title }) => title).join("; ")}`);
  await processes.end();
}

/** Prints failures before the logs and after them, since a long log may be cut. */
function close() {
  for (const text of secondTries.failures()) total.failed.push(`second tries: ${text}`);
  secondTries.save();
  const failed = total.failed.map((line) => `FAILED: ${line}`);
  for (const line of failed) console.log(line);
  for (const text of total.logs) console.log(`\n${text}`);
  console.log("");
  for (const line of slowestFirst(total.durations)) console.log(line);
  for (const line of total.skipped) console.log(`skipped: ${line}`);
  for (const name of secondTries.names()) console.log(`passed at the second try: ${name}`);
  for (const line of failed) console.log(line);
  console.log(`took ${secondsSince(started)} s, with the processors ${busyPercent()} % busy`);
  console.log(`${total.passed} passed, ${total.failed.length} failed`);
  process.exit(total.failed.length === 0 && total.passed > 0 ? 0 : 1);
}

function log(source, text) {
  const s = secondsSince(started);
  const clock = `${String(Math.floor(s / 60)).padStart(2, "0")}:${String(s % 60).padStart(2, "0")}`;
  console.log(`[${clock} ${source}] ${text}`);
}

/** The share of the processors that all programs of the machine have used since the start. */
function busyPercent() {
  const now = processorTimes();
  return Math.round((100 * (now.busy - processorsBefore.busy)) / (now.all - processorsBefore.all));
}

function processorTimes() {
  const times = cpus().map((each) => each.times);
  const idle = times.reduce((sum, each) => sum + each.idle, 0);
  const all = times.flatMap(Object.values).reduce((sum, each) => sum + each, 0);
  return { all, busy: all - idle };
}

function secondsSince(time) {
  return Math.round((Date.now() - time) / 1000);
}

/** Cuts a stream of text into whole lines. */
function lines(onLine) {
  let rest = "";
  return (text) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop();
    for (const part of parts) onLine(part);
  };
}
