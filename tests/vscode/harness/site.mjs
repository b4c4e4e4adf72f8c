/** The miniature site of tests/lab, reached through ssh by an editor on this machine. */

import { spawn } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { createInterface } from "node:readline";
import { endMarked } from "./processes.mjs";
import { python, ROOT } from "./ray.mjs";

/** Starts the site: the description printed by tests/lab/editor.py, `request(line)` for its commands, and `stop()`. */
export async function startSite() {
  const child = spawn(python(), ["-m", "tests.lab.editor"], {
    cwd: ROOT,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const readAnswer = async () => {
    const { done, value } = await lines.next();
    if (done) throw new Error("the site has ended");
    return JSON.parse(value);
  };
  const description = await readAnswer();
  if (description.none !== undefined) throw new Error(`there is no site: ${description.none}`);
  return {
    ...description,
    request: async (line) => {
      child.stdin.write(`${line}\n`);
      await readAnswer();
    },
    stop: async () => {
      child.stdin.end();
      await ended;
    },
  };
}

/** The stage of `setStage`, for a user whose clusters are all behind the site's login nodes. */
export async function siteStage() {
  const site = await startSite();
  const base = fs.mkdtempSync(path.join("/tmp", "er-vs-"));
  const home = path.join(base, "h");
  fs.mkdirSync(home, { mode: 0o700 });
  return {
    site,
    base,
    home,
    workspace: path.dirname(site.program),
    env: {
      HOME: site.home,
      EAGLERAY_HOME: home,
      EAGLERAY_DISCOVERY: "off",
      RAY_API_SERVER_ADDRESS: "",
      RAY_ADDRESS: "",
    },
    settings: {
      "eagleray.python": python(),
      "eagleray.ssh.path": site.ssh,
      // Drawn by the graphics card, the text of a terminal would not be in the page.
      "terminal.integrated.gpuAcceleration": "off",
    },
    stop: async () => {
      endMarked("EAGLERAY_HOME", home);
      await site.stop();
      fs.rmSync(base, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
    },
  };
}
