/** Installs an editor from npm into the cache of the developer's machine, once. */

import { spawn } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { VERSIONS } from "./versions.mjs";

/** The folder that survives a fresh checkout: EAGLERAY_DEV_CACHE or ~/.cache/eagleray-dev. */
export function cacheFolder() {
  return process.env.EAGLERAY_DEV_CACHE || path.join(os.homedir(), ".cache", "eagleray-dev");
}

/**
 * Installs the editor `version` into the cache unless it is there, and returns its paths:
 * `{ version, server, node }`, the folder of VS Code's server and the Node to run it with.
 */
export async function install(version, log = () => {}) {
  const packages = VERSIONS[version];
  if (!packages)
    throw new Error(`no editor ${version}; there are ${Object.keys(VERSIONS).join(", ")}`);
  const folder = path.join(cacheFolder(), `code-server-${packages.codeServer}`);
  const editor = {
    version,
    server: path.join(folder, "node_modules", "code-server", "lib", "vscode"),
    node: packages.node
      ? path.join(folder, "node_modules", nodePackage(), "bin", "node")
      : process.execPath,
  };
  if (!fs.existsSync(path.join(folder, "complete"))) {
    await oneAtATime(folder, async () => {
      if (fs.existsSync(path.join(folder, "complete"))) return;
      log(`installing VS Code ${version} (code-server ${packages.codeServer})`);
      await installInto(folder, packages, editor);
      fs.accessSync(editor.node, fs.constants.X_OK);
      fs.writeFileSync(path.join(folder, "complete"), "");
    });
  }
  return editor;
}

async function installInto(folder, packages, editor) {
  const quiet = ["--no-audit", "--no-fund", "--ignore-scripts"];
  fs.writeFileSync(path.join(folder, "package.json"), '{"private":true}\n');
  const names = [`code-server@${packages.codeServer}`];
  if (packages.node) names.push(`${nodePackage()}@${packages.node}`);
  await run("npm", ["install", ...names, "--legacy-peer-deps", ...quiet], folder, "editor");
  takeWatcherFromRegistry(editor.server);
  const server = ["install", "--omit=dev", ...quiet];
  await run("npm", server, editor.server, "server", folder);
  for (const name of packages.native) await buildNative(editor, name, folder);
}

/** Builds a native module; without it (no compiler, no headers) only the logs are incomplete. */
async function buildNative(editor, name, folder) {
  const prefix = path.dirname(path.dirname(editor.node));
  const gyp = path.join(npmFolder(), "node_modules", "node-gyp", "bin", "node-gyp.js");
  const env = {
    ...process.env,
    npm_config_nodedir: prefix,
    // Optimizing takes longer than it saves in tests.
    CXXFLAGS: "-O0",
    PATH: `${path.dirname(editor.node)}:${process.env.PATH}`,
  };
  const module = path.join(editor.server, "node_modules", name);
  await run(
    editor.node,
    [gyp, "rebuild"],
    module,
    `build-${path.basename(name)}`,
    folder,
    env,
  ).catch(() => {});
}

/** Replaces the watcher from GitHub in the older build by the same one from the registry. */
function takeWatcherFromRegistry(server) {
  for (const name of ["package.json", "npm-shrinkwrap.json"]) {
    const file = path.join(server, name);
    if (!fs.existsSync(file)) continue;
    const json = JSON.parse(fs.readFileSync(file, "utf8"));
    const own = name === "package.json" ? json : json.packages[""];
    if (
      !/^(git|github|https?):/.test(own.dependencies["@parcel/watcher"] ?? "") &&
      !/\//.test(own.dependencies["@parcel/watcher"] ?? "")
    )
      continue;
    own.dependencies["@parcel/watcher"] = "2.5.1";
    if (json.packages) delete json.packages["node_modules/@parcel/watcher"];
    fs.writeFileSync(file, JSON.stringify(json));
  }
}

/** The package with Node's files for this machine, which npm's package `node` fetches in an install script. */
function nodePackage() {
  return `node-${process.platform}-${process.arch === "arm64" ? "arm64" : "x64"}`;
}

function npmFolder() {
  const npm = (process.env.PATH ?? "")
    .split(":")
    .map((dir) => path.join(dir, "npm"))
    .find((file) => fs.existsSync(file));
  if (!npm) throw new Error("npm is not on PATH");
  return path.dirname(path.dirname(fs.realpathSync(npm)));
}

/** Locks the folder against a second run that starts at the same time: it waits for the first. */
async function oneAtATime(folder, work) {
  fs.mkdirSync(folder, { recursive: true });
  const lock = path.join(folder, "lock");
  const until = Date.now() + 15 * 60_000;
  for (;;) {
    try {
      fs.writeFileSync(lock, String(process.pid), { flag: "wx" });
      break;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
      if (!alive(Number(read(lock)))) fs.rmSync(lock, { force: true });
      else if (Date.now() > until) throw new Error(`${lock} is held by process ${read(lock)}`);
      else await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
  try {
    await work();
  } finally {
    fs.rmSync(lock, { force: true });
  }
}

function read(file) {
  try {
    return fs.readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

function alive(pid) {
  if (!pid) return true; // Just created and not written yet.
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** Runs a command with its output in a log file; the error of a failure contains the end of that file. */
function run(command, args, cwd, name, logFolder = cwd, env = process.env) {
  const file = path.join(logFolder, `install-${name}.log`);
  const log = fs.openSync(file, "w");
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: ["ignore", log, log] });
    child.on("error", reject);
    child.on("exit", (code) => {
      fs.closeSync(log);
      if (code === 0) resolve();
      else
        reject(
          new Error(`${command} ${args.join(" ")} ended with ${code}:\n${read(file).slice(-2000)}`),
        );
    });
  });
}

if (import.meta.url === `file://${process.argv[1]}`) {
  for (const version of process.argv.slice(2).length
    ? process.argv.slice(2)
    : Object.keys(VERSIONS)) {
    const editor = await install(version, console.log);
    console.log(`VS Code ${version}: ${editor.server}`);
  }
}
