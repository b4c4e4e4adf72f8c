// Runs every suite, or those that are named, and closes with `N passed, N failed`.
// What only later suites need is installed in the background.  What fails in those of the lane "first" costs
// a minute to find; the others that were begun by then end, and no more are begun.
import { randomBytes } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";

import { interpreter } from "./environments.mjs";
import { Lanes } from "./lanes.mjs";
import { endMarked, Started } from "./leftovers.mjs";
import { cache, out, root } from "./places.mjs";
import { lastLines, readClosingLine, readJunit } from "./results.mjs";
import { endWithChildren, run } from "./run.mjs";
import { needs, suites } from "./suites.mjs";

endWithChildren();
const started = Date.now();
const runId = randomBytes(8).toString("hex");
const processes = new Started(`EAGLERAY_TEST_RUN=${runId}`);
const folder = join(out, "results");
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

const words = process.argv.slice(2);
const unknown = words.filter((word) => !suites.some((suite) => suite.name.startsWith(word)));
if (unknown.length > 0) {
  console.error(
    `No suite ${unknown.join(", ")}. There are: ${suites.map((s) => s.name).join(", ")}`,
  );
  process.exit(2);
}
const chosen = suites.filter(
  (suite) => words.length === 0 || words.some((word) => suite.name.startsWith(word)),
);
const ready = prepare(new Set(chosen.flatMap((suite) => suite.needs)));
const total = { passed: 0, failed: [], skipped: [], second: [], logs: [] };
let stopped;
for (const suite of await new Lanes(chosen, ready).run(runSuite, () => stopped !== undefined)) {
  total.failed.push(`${suite.name}: not run, since ${stopped} failed`);
}
await endLeftovers();
close();

/** Starts the making of everything that is needed: one thing after the other in each lane. */
function prepare(wanted) {
  for (const name of [...wanted]) for (const before of needs[name].after ?? []) wanted.add(before);
  const lanes = new Map();
  const made = new Map();
  for (const [name, { lane, make, after = [] }] of Object.entries(needs)) {
    if (!wanted.has(name)) continue;
    const begun = async () => {
      await Promise.all(after.map((before) => made.get(before)));
      const start = Date.now();
      await make((text) => say("prepare", text));
      if (Date.now() - start > 1000) say("prepare", `${name} is there (${seconds(start)})`);
    };
    const before = lanes.get(lane) ?? Promise.resolve();
    const promise = before.then(begun, begun);
    // A suite that needs it reports the failure; until then it must not count as unhandled.
    promise.catch((error) => say("prepare", `${name} failed: ${error.message}`));
    lanes.set(lane, promise);
    made.set(name, promise);
  }
  return made;
}

async function runSuite(suite) {
  try {
    await Promise.all(suite.needs.map((name) => ready.get(name)));
  } catch (error) {
    total.failed.push(`${suite.name}: could not be prepared`);
    total.logs.push(`==== ${suite.name}\n${error.message}`);
    return;
  }
  const begun = Date.now();
  let { results, output } = await attempt(suite);
  if (suite.real && results.failed.length > 0) {
    say(suite.name, `${results.failed.length} failed, run once more by itself`);
    total.logs.push(`==== ${suite.name}, first try\n${lastLines(output)}`);
    const again = await attempt(suite, secondTry(suite, results));
    output = again.output;
    results = merged(suite, results, again.results);
  }
  total.passed += results.passed.length;
  for (const name of results.failed) {
    total.failed.push(`${suite.name}: ${name}${reason(results.reasons[name])}`);
  }
  total.skipped.push(...results.skipped.map((name) => `${suite.name}: ${name}`));
  if (results.failed.length > 0) total.logs.push(`==== ${suite.name}\n${lastLines(output)}`);
  if (results.failed.length > 0 && suite.lane === "first") stopped = suite.name;
  say(
    suite.name,
    `${results.passed.length} passed, ${results.failed.length} failed (${seconds(begun)})`,
  );
}

/** A story in the editor is told from its beginning again, of pytest's only what failed. */
function secondTry(suite, { crashed }) {
  return { nth: 2, lastFailed: suite.kind === "pytest" && !crashed };
}

/** The second result counts for everything that ran twice. */
function merged(suite, first, second) {
  const mended = first.failed.filter((name) => !second.failed.includes(name));
  if (!second.crashed) total.second.push(...mended.map((name) => `${suite.name}: ${name}`));
  return secondTry(suite, first).lastFailed
    ? { ...second, passed: [...first.passed, ...second.passed], skipped: first.skipped }
    : second;
}

/** The closing lines may be all that a reader gets to see of a long log. */
function reason(text = "") {
  return text && `\n    ${text.slice(0, 300)}`;
}

async function attempt(suite, which = { nth: 1 }) {
  const file = `${suite.name.replace(/\W+/g, "-")}-${which.nth}`;
  const junit = join(folder, `${file}.xml`);
  const cacheFolder = join(folder, `${suite.name.replace(/\W+/g, "-")}-cache`);
  const [command, args] = suite.command({ junit, cacheFolder, ...which });
  const { code, output, timedOut } = await run(command, args, {
    cwd: root,
    env: { ...environment(), EAGLERAY_TEST_ATTEMPT: `${runId}-${file}` },
    onText: lines((line) => say(suite.name, line)),
    limitMs: suite.minutes * 60_000,
  });
  // It failed for its time; what it could not end any more is no second failure.
  if (timedOut) await endMarked(`EAGLERAY_TEST_ATTEMPT=${runId}-${file}`);
  const results = suite.kind === "script" ? readClosingLine(output) : readJunit(junit);
  if (results !== undefined && (code === 0) === (results.failed.length === 0)) {
    return { results, output };
  }
  const why = timedOut ? `ran past ${suite.minutes} minutes` : `ended with ${code}`;
  const before = results ?? { passed: [], failed: [], skipped: [], reasons: {} };
  return { results: { ...before, failed: [...before.failed, why], crashed: true }, output };
}

/** The suites see no Ray of this person, and everything that they start carries a mark. */
function environment() {
  const env = {
    EAGLERAY_TEST_RUN: runId,
    EAGLERAY_DEV_CACHE: cache,
    EAGLERAY_SHOTS: process.env.EAGLERAY_SHOTS,
    EAGLERAY_OLD_RAY_PYTHON: interpreter("old-ray"),
    EAGLERAY_PACKED: ready.has("vsix") ? "1" : undefined,
    RAY_AUTH_MODE: "disabled",
    FORCE_COLOR: undefined,
    NO_COLOR: "1",
    PYTHONUNBUFFERED: "1",
  };
  // What is set here wins; else a person's own settings of Ray and Eagleray must not reach the suites.
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

/** Failures are printed before the logs and after them, since a long log may be cut. */
function close() {
  const failed = total.failed.map((line) => `FAILED: ${line}`);
  for (const line of failed) console.log(line);
  for (const text of total.logs) console.log(`\n${text}`);
  console.log("");
  for (const line of total.skipped) console.log(`skipped: ${line}`);
  for (const line of total.second) console.log(`passed at the second try: ${line}`);
  for (const line of failed) console.log(line);
  console.log(`took ${seconds(started)}`);
  console.log(`${total.passed} passed, ${total.failed.length} failed`);
  process.exit(total.failed.length === 0 && total.passed > 0 ? 0 : 1);
}

function say(who, text) {
  const s = Math.round((Date.now() - started) / 1000);
  const clock = `${String(Math.floor(s / 60)).padStart(2, "0")}:${String(s % 60).padStart(2, "0")}`;
  console.log(`[${clock} ${who}] ${text}`);
}

function seconds(since) {
  return `${((Date.now() - since) / 1000).toFixed(0)} s`;
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
