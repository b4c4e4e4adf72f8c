/** The miniature site of tests/lab, as somebody's editor on this machine meets it: behind ssh. */

import { spawn } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { createInterface } from "node:readline";
import { endMarked } from "./processes.mjs";
import { python, ROOT } from "./ray.mjs";

/** Starts the site: what tests/lab/editor.py says, `ask(line)`, which is in its words, and `stop()`. */
export async function startSite() {
  const child = spawn(python(), ["-m", "tests.lab.editor"], {
    cwd: ROOT,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const said = async () => {
    const { done, value } = await lines.next();
    if (done) throw new Error("the site has ended");
    return JSON.parse(value);
  };
  const laid = await said();
  if (laid.none !== undefined) throw new Error(`there is no site: ${laid.none}`);
  return {
    ...laid,
    ask: async (line) => {
      child.stdin.write(`${line}\n`);
      await said();
    },
    stop: async () => {
      child.stdin.end();
      await ended;
    },
  };
}

/** What `setStage` makes, for somebody whose clusters are all behind the site's login nodes. */
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
      // Only then the text of a terminal stands in the page.
      "terminal.integrated.gpuAcceleration": "off",
    },
    stop: async () => {
      endMarked("EAGLERAY_HOME", home);
      await site.stop();
      fs.rmSync(base, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
    },
  };
}
