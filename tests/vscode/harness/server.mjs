/** Starts an editor's server on a loopback port with folders of its own, and ends it with all its children. */

import { randomBytes } from "node:crypto";
import { spawn, execFile } from "node:child_process";
import * as fs from "node:fs";
import * as net from "node:net";
import * as os from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";
import { install } from "./install.mjs";
import { useLanguage } from "./language.mjs";
import { until } from "./until.mjs";
import { NEWEST } from "./versions.mjs";

const QUIET = {
  "security.workspace.trust.enabled": false,
  "telemetry.telemetryLevel": "off",
  "workbench.startupEditor": "none",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "extensions.ignoreRecommendations": true,
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": false,
  "update.mode": "none",
  "chat.disableAIFeatures": true,
  "chat.commandCenter.enabled": false,
  "git.enabled": false,
  "remote.autoForwardPorts": false,
  "files.autoSave": "off",
  "workbench.tips.enabled": false,
};

/**
 * Starts the editor and returns `{ url(folder, options), port, token, folders, logs(), stop() }`.
 *
 * `version`: a key of VERSIONS.  `extensionDir`: the extension is run from that folder (development mode);
 * `linkedDir`, `linkedDirs`: these folders are installed extensions; `vsix`: it is installed from that file.  `folder`: what the
 * window opens.  `driver: false` leaves out the editor's driver for tests, under which it shows no dialog and
 * no message.  `settings` are added to the
 * quiet ones; `env` to the environment of the server and so of the extension host.  `auth: false` leaves
 * out the random token that the address otherwise carries.  `home` keeps the editor's folders, else they
 * are temporary and go with `stop()`.  `language` is `{ tag, translate }`: the editor's own texts are translated by
 * that function, an extension's by its files for that tag.
 */
export async function start(options = {}) {
  const {
    version = NEWEST,
    extensionDir,
    linkedDirs = options.linkedDir ? [options.linkedDir] : [],
    vsix,
    driver = true,
    folder,
    settings = {},
    env = {},
    auth = true,
    language,
    log,
  } = options;
  const editor = await install(version, log);
  const home = options.home ?? fs.mkdtempSync(path.join(os.tmpdir(), "er-editor-"));
  const folders = layOut(home, settings);
  const token = auth ? randomBytes(24).toString("hex") : "";
  const port = options.port ?? (await freePort());
  const childEnv = { ...process.env, ...env };
  delete childEnv.NODE_OPTIONS;
  if (linkedDirs.length > 0) linkExtensions(folders, linkedDirs);
  if (vsix) await installExtension(editor, folders, vsix, childEnv);
  const args = [
    ...serverArgs(editor, folders, port, token, driver),
    ...(language ? useLanguage(editor, folders, language) : []),
  ];
  const child = spawn(editor.node, args, {
    cwd: folders.home,
    env: childEnv,
    detached: true,
    stdio: ["ignore", fs.openSync(folders.log, "a"), fs.openSync(folders.log, "a")],
  });
  const server = {
    version,
    port,
    token,
    folders,
    pid: child.pid,
    url: (opened = folder, more = {}) => address({ port, token, extensionDir, ...more }, opened),
    logs: () => collectLogs(folders),
    stop: async () => {
      await endGroup(child);
      if (!options.home)
        fs.rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
    },
  };
  try {
    await until(
      () => child.exitCode !== null || answers(port),
      "the editor's server answers",
      60_000,
    );
    if (child.exitCode !== null)
      throw new Error(`the editor's server ended with ${child.exitCode}`);
  } catch (error) {
    const log = fs.readFileSync(folders.log, "utf8").slice(-3000);
    await server.stop();
    throw new Error(`${error.message}\n${log}`);
  }
  return server;
}

function layOut(home, settings) {
  const folders = {
    home,
    user: path.join(home, "user"),
    data: path.join(home, "data"),
    extensions: path.join(home, "extensions"),
    log: path.join(home, "server.log"),
    token: path.join(home, "token"),
  };
  fs.mkdirSync(path.join(folders.user, "User"), { recursive: true });
  fs.mkdirSync(folders.extensions, { recursive: true });
  fs.chmodSync(home, 0o700);
  writeSettings(folders, settings);
  return folders;
}

/**
 * Writes the settings as the server keeps them; the window reads changes while it runs.  They are in both files, since
 * settings of the machine's scope are read from the machine's file only; `machine` has more for that file.
 */
export function writeSettings(folders, settings, machine = {}) {
  for (const [kind, more] of [
    ["User", {}],
    ["Machine", machine],
  ]) {
    const file = path.join(folders.user, kind, "settings.json");
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(`${file}.new`, JSON.stringify({ ...QUIET, ...settings, ...more }, null, 2));
    fs.renameSync(`${file}.new`, file);
  }
}

function dirs(folders) {
  return [
    "--user-data-dir",
    folders.user,
    "--server-data-dir",
    folders.data,
    "--extensions-dir",
    folders.extensions,
  ];
}

function serverArgs(editor, folders, port, token, driver) {
  // The token is in a file, since every user of the machine can read arguments.
  if (token) fs.writeFileSync(folders.token, token, { mode: 0o600 });
  const access = token
    ? ["--connection-token-file", folders.token]
    : ["--without-connection-token"];
  return [
    path.join(editor.server, "out", "server-main.js"),
    ...["--host", "127.0.0.1", "--port", String(port), ...access],
    ...["--accept-server-license-terms", "--telemetry-level", "off"],
    ...(driver ? ["--enable-smoke-test-driver"] : []),
    ...dirs(folders),
  ];
}

/** Installed extensions that are links to `dirs`, listed as the editor lists what it has installed. */
function linkExtensions(folders, dirs) {
  const entries = dirs.map((dir) => linked(folders, dir));
  fs.writeFileSync(path.join(folders.extensions, "extensions.json"), JSON.stringify(entries));
}

function linked(folders, dir) {
  const manifest = JSON.parse(fs.readFileSync(path.join(dir, "package.json"), "utf8"));
  const { publisher, name, version } = manifest;
  const link = path.join(folders.extensions, `${publisher}.${name}-${version}`);
  fs.symlinkSync(dir, link);
  return {
    identifier: { id: `${publisher}.${name}` },
    version,
    location: { $mid: 1, path: link, scheme: "file" },
    relativeLocation: path.basename(link),
  };
}

async function installExtension(editor, folders, vsix, env) {
  const args = [
    path.join(editor.server, "out", "server-main.js"),
    ...dirs(folders),
    "--accept-server-license-terms",
  ];
  const { stdout, stderr } = await promisify(execFile)(
    editor.node,
    [...args, "--install-extension", vsix],
    { env },
  );
  if (!/successfully installed/.test(stdout))
    throw new Error(`${vsix} was not installed:\n${stdout}${stderr}`);
}

/** The window's address; `testsPath` runs that module in the extension host. */
function address({ port, token, extensionDir, testsPath }, folder) {
  const remote = (file) => `vscode-remote://127.0.0.1:${port}${encodeURI(file)}`;
  const query = new URLSearchParams();
  if (token) query.set("tkn", token);
  if (folder) query.set("folder", folder);
  else query.set("ew", "true");
  const payload = [];
  if (extensionDir) payload.push(["extensionDevelopmentPath", remote(extensionDir)]);
  if (testsPath) payload.push(["extensionTestsPath", remote(testsPath)]);
  if (payload.length) query.set("payload", JSON.stringify(payload));
  return `http://127.0.0.1:${port}/?${query}`;
}

function answers(port) {
  return fetch(`http://127.0.0.1:${port}/version`, { signal: AbortSignal.timeout(5000) }).then(
    (response) => response.ok,
    () => false,
  );
}

export function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** The logs of the server, its extension hosts and the extension. */
function collectLogs(folders) {
  const files = [folders.log];
  const visit = (dir) => {
    for (const entry of fs.existsSync(dir) ? fs.readdirSync(dir, { withFileTypes: true }) : []) {
      const file = path.join(dir, entry.name);
      if (entry.isDirectory()) visit(file);
      else if (/^Eagleray\.log$/.test(entry.name)) files.push(file);
    }
  };
  visit(path.join(folders.data, "data", "logs"));
  visit(path.join(folders.user, "logs"));
  return files
    .map((file) => `--- ${file}\n${fs.readFileSync(file, "utf8").slice(-8000)}`)
    .join("\n");
}

async function endGroup(child) {
  if (child.exitCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  signalGroup(child.pid, "SIGTERM");
  const slow = setTimeout(() => signalGroup(child.pid, "SIGKILL"), 10_000);
  await ended;
  clearTimeout(slow);
  signalGroup(child.pid, "SIGKILL");
}

function signalGroup(pid, signal) {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}
