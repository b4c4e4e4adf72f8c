/** The stage of an editor test: a cluster, a workspace, a home of Eagleray, and their cleanup. */

import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { endMarked } from "./processes.mjs";
import { eaglerayEnv, python, ROOT, startCluster } from "./ray.mjs";

const PROGRAM = path.join(ROOT, "tests", "vscode", "program");

/**
 * `{ cluster, workspace, home, env, settings, stop() }`.  The workspace's path has spaces and letters
 * beyond ASCII, as users' paths do; Eagleray's home has a short path, since sockets are in it.
 * `ray` is the Python whose Ray is started.
 */
export async function setStage({ program = PROGRAM, ray = python() } = {}) {
  buildIfMissing();
  const base = fs.mkdtempSync(path.join("/tmp", "er-vs-"));
  const workspace = path.join(base, "my project ñ 中");
  const home = path.join(base, "h");
  fs.cpSync(program, workspace, {
    recursive: true,
    filter: (file) => !file.includes("__pycache__"),
  });
  fs.mkdirSync(home, { mode: 0o700 });
  const cluster = await startCluster("--num-cpus=4", `--python=${ray}`);
  return {
    cluster,
    base,
    workspace,
    home,
    env: eaglerayEnv(cluster, home),
    settings: { "eagleray.python": python(), "eagleray.discovery": "own" },
    stop: async () => {
      await cluster.stop();
      endMarked("EAGLERAY_HOME", home);
      fs.rmSync(base, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
    },
  };
}

/** Where screenshots go; kept after the run. */
export function shotsFolder(version) {
  const folder = process.env.EAGLERAY_SHOTS ?? path.join(ROOT, "tests", "vscode", "shots");
  const own = path.join(folder, version);
  fs.mkdirSync(own, { recursive: true });
  return own;
}

function buildIfMissing() {
  if (fs.existsSync(path.join(ROOT, "dist", "extension.js"))) return;
  execFileSync(process.execPath, [path.join(ROOT, "scripts", "build.mjs")], { cwd: ROOT });
}
