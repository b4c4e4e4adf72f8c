// A real Ray cluster, a training program whose workers pause, and a real VS Code with Eagleray installed.
// Prints the address of the editor, which only this user can open; Ctrl-C ends everything that it started.
// `npm run demo -- stuck`, `profile` and `agent` add a job that hangs, a report and an agent with its server.
import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

import { Progress } from "./demo/progress.mjs";
import { interpreter, makeEnvironment } from "./environments.mjs";
import { endMarked } from "./leftovers.mjs";
import { makeBundle, makeEditor, makeNodePackages } from "./packages.mjs";
import { root } from "./paths.mjs";
import { endAll } from "./run.mjs";

/** The scenarios beside the paused workers: what is started, the files that are opened, and what to click. */
const SCENARIOS = {
  stuck: {
    start: startStuckRun,
    files: ["stuck/game.py"],
    click: "Runs, the row game.py: Why Is It Stuck? says why the game never ends.",
  },
  profile: {
    start: copyReport,
    files: ["policy-0.sqlite"],
    click: "The open report: NVTX ranges, calls that wait, threads. Profile on Ray… needs nsys.",
  },
  agent: {
    start: startServer,
    files: ["agent/math_agent.py"],
    click: "Above a class: Debug, or Run 64 × 8 with questions.jsonl and the server demo.",
  },
};
const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !(name in SCENARIOS));
if (unknown.length > 0) {
  console.error(
    `Unknown scenario ${unknown[0]}. Use ${Object.keys(SCENARIOS).join(", ")} or none.`,
  );
  process.exit(2);
}

const mark = randomBytes(8).toString("hex");
// A short path, since Eagleray's sockets are in it.
const folder = mkdtempSync("/tmp/er-demo-");
const program = join(folder, "rl_training");
const progress = new Progress();
const ending = [];
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => void end(0));

try {
  await progress.of("packages and Python", () =>
    Promise.all([makeNodePackages(), makeEnvironment("dev")]),
  );
  const [cluster] = await Promise.all([
    progress.of("a Ray cluster", startCluster),
    progress.of("the extension", makeBundle),
    progress.of("the editor's files", () => makeEditor("1.139")),
  ]);
  startProgram(cluster);
  const start = (name) => progress.of(`scenario ${name}`, () => SCENARIOS[name].start(cluster));
  await Promise.all(chosen.map(start));
  const editor = await progress.of("the editor", () => startEditor(cluster));
  progress.end();
  console.log(`\nThe editor, for you alone:  ${editor.url()}`);
  console.log(`The Ray cluster:            ${cluster.address}`);
  console.log("\nClick a paused worker in the panel: the editor shows its line and variables.");
  for (const name of chosen) console.log(SCENARIOS[name].click);
  console.log("Ctrl-C ends everything.");
} catch (error) {
  progress.end();
  console.error(error.message);
  await end(1);
}

/** Everything that is started carries the mark, by which it is ended. */
function environment(more) {
  return { ...process.env, EAGLERAY_DEMO: mark, EAGLERAY_HOME: join(folder, "home"), ...more };
}

async function startCluster() {
  const child = spawn(interpreter("dev"), [join(root, "scripts", "ray_cluster.py")], {
    env: environment({}),
    stdio: ["pipe", "pipe", "inherit"],
    detached: true,
  });
  const gone = new Promise((resolve) => child.once("exit", resolve));
  ending.unshift(() => {
    child.stdin.end();
    return gone;
  });
  const line = await Promise.race([
    new Promise((resolve) => createInterface(child.stdout).once("line", resolve)),
    gone.then((code) => {
      throw new Error(`The Ray cluster ended with ${code}.`);
    }),
  ]);
  return JSON.parse(line);
}

/** Starts a copy of the training program, so that edits in the demo don't change the checkout. */
function startProgram(cluster) {
  cpSync(join(root, "tests", "programs", "rl_training"), program, { recursive: true });
  // The Python on PATH may have no Ray.
  mkdirSync(join(program, ".vscode"));
  const settings = { "eagleray.runs.python": interpreter("dev") };
  writeFileSync(join(program, ".vscode", "settings.json"), JSON.stringify(settings, null, 2));
  const log = openSync(join(folder, "training.log"), "w");
  spawn(interpreter("dev"), ["train.py"], {
    cwd: program,
    env: onCluster(cluster),
    stdio: ["ignore", log, log],
    detached: true,
  });
}

function onCluster(cluster) {
  return environment({
    RAY_ADDRESS: cluster.gcs_address,
    RAY_API_SERVER_ADDRESS: cluster.address,
    RAY_AUTH_MODE: "disabled",
    EAGLERAY_RAY_CLUSTER: cluster.mark,
  });
}

/** Runs the command line of the checkout in a folder of the program. */
function eagleray(cwd, env, ...args) {
  const command = join(dirname(interpreter("dev")), "eagleray");
  return promisify(execFile)(command, args, { cwd, env });
}

function copyPrograms(name) {
  const copied = join(program, name);
  cpSync(join(root, "tests", "programs", "demo", name), copied, { recursive: true });
  return copied;
}

async function startStuckRun(cluster) {
  const game = ["--", interpreter("dev"), "game.py"];
  await eagleray(copyPrograms("stuck"), onCluster(cluster), "run", "--detach", ...game);
}

function copyReport() {
  cpSync(join(root, "samples", "policy-0.sqlite"), join(program, "policy-0.sqlite"));
}

async function startServer() {
  const cwd = copyPrograms("agent");
  const env = environment({});
  const child = spawn(interpreter("dev"), ["chat_server.py"], {
    cwd,
    env,
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  const port = await new Promise((resolve) => createInterface(child.stdout).once("line", resolve));
  await eagleray(cwd, env, "serve", "add", `http://127.0.0.1:${port}/v1`, "--name", "demo");
}

async function startEditor(cluster) {
  const { start } = await import("../tests/vscode/harness/server.mjs");
  const files = chosen.flatMap((name) => SCENARIOS[name].files.map((file) => join(program, file)));
  const editor = await start({
    version: "1.139",
    linkedDirs: [root, join(root, "scripts", "demo")],
    folder: program,
    // The driver for tests would hide messages and questions.
    driver: false,
    settings: { "eagleray.python": interpreter("dev") },
    env: environment({
      RAY_API_SERVER_ADDRESS: cluster.address,
      EAGLERAY_DEMO_FILES: JSON.stringify(files),
    }),
  });
  ending.unshift(() => editor.stop());
  return editor;
}

async function end(code) {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
  for (const step of ending.splice(0)) await step();
  await endAll();
  await endMarked(`EAGLERAY_DEMO=${mark}`);
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
  process.exit(code);
}
