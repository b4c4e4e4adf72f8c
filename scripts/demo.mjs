// A real Ray cluster, a training program whose workers pause, and a real VS Code with Eagleray installed.
// Prints the address of the editor, which only this user can open; Ctrl-C ends everything that it started.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { interpreter, makeEnvironment } from "./environments.mjs";
import { endMarked } from "./leftovers.mjs";
import { makeBundle, makeEditor, makeNodePackages, makePackage } from "./packages.mjs";
import { root } from "./paths.mjs";
import { endAll } from "./run.mjs";

const mark = randomBytes(8).toString("hex");
// A short path, since Eagleray's sockets are in it.
const folder = mkdtempSync("/tmp/er-demo-");
const ending = [];
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => void end(0));

try {
  const vsix = await prepare();
  const cluster = await startCluster();
  startProgram(cluster);
  const editor = await startEditor(cluster, vsix);
  console.log(`\nThe editor, for you alone:  ${editor.url()}`);
  console.log(`The Ray cluster:            ${cluster.address}`);
  console.log("\nOpen the Eagleray panel and click a paused worker. Ctrl-C ends everything.");
} catch (error) {
  console.error(error.message);
  await end(1);
}

async function prepare() {
  await Promise.all([makeNodePackages().then(makeBundle), makeEnvironment("dev")]);
  const target = process.arch === "arm64" ? "linux-arm64" : "linux-x64";
  const [vsix] = await Promise.all([makePackage(target), makeEditor("1.139")]);
  return vsix;
}

/** Everything that is started carries the mark, by which it is ended. */
function environment(more) {
  return { ...process.env, EAGLERAY_DEMO: mark, EAGLERAY_HOME: join(folder, "home"), ...more };
}

async function startCluster() {
  console.log("starting a Ray cluster");
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
  console.log("starting the training program");
  const program = join(folder, "rl_training");
  cpSync(join(root, "tests", "programs", "rl_training"), program, { recursive: true });
  // The Python on PATH may have no Ray.
  mkdirSync(join(program, ".vscode"));
  const settings = { "eagleray.runs.python": interpreter("dev") };
  writeFileSync(join(program, ".vscode", "settings.json"), JSON.stringify(settings, null, 2));
  const log = openSync(join(folder, "training.log"), "w");
  spawn(interpreter("dev"), ["train.py"], {
    cwd: program,
    env: environment({
      RAY_ADDRESS: cluster.gcs_address,
      RAY_AUTH_MODE: "disabled",
      EAGLERAY_RAY_CLUSTER: cluster.mark,
    }),
    stdio: ["ignore", log, log],
    detached: true,
  });
}

async function startEditor(cluster, vsix) {
  console.log("starting the editor");
  const { start } = await import("../tests/vscode/harness/server.mjs");
  const editor = await start({
    version: "1.139",
    vsix,
    folder: join(folder, "rl_training"),
    env: environment({ RAY_API_SERVER_ADDRESS: cluster.address }),
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
