/**
 * Runs mocha inside the extension host of a real VS Code, against a real Ray cluster.
 *
 *     node tests/vscode/host.mjs [--vscode 1.139|1.105] [--only TEXT]
 */

import * as fs from "node:fs";
import * as path from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { launch, openPage } from "./harness/browser.mjs";
import { endAll, endWithRun } from "./harness/cleanup.mjs";
import { options, Results } from "./harness/results.mjs";
import { ROOT } from "./harness/ray.mjs";
import { start } from "./harness/server.mjs";
import { setStage, shotsFolder } from "./harness/stage.mjs";
import { until } from "./harness/until.mjs";

const LIMIT_MS = 13 * 60_000;
// Longer than a test with its hooks may take: an editor that reports nothing for so long hangs.
const SILENCE_MS = 4.5 * 60_000;

const { version, only } = options();
const results = new Results();
const out = path.join(ROOT, "out", `host-${version}-${process.pid}`);
let page;
try {
  endWithRun(() => fs.rmSync(out, { recursive: true, force: true }));
  await bundle();
  const stage = await setStage();
  endWithRun(() => stage.stop());
  const events = path.join(stage.base, "results.jsonl");
  fs.writeFileSync(events, "");
  const { cluster, workspace, base } = stage;
  const test = { cluster: { ...cluster, stop: undefined }, workspace, base, events, only };
  const server = await start({
    version,
    extensionDir: ROOT,
    folder: workspace,
    settings: stage.settings,
    env: { ...stage.env, EAGLERAY_TEST: JSON.stringify(test) },
    log: console.log,
  });
  endWithRun(() => server.stop());
  endWithRun(() => results.failures > 0 && console.log(server.logs()));
  const browser = await launch();
  endWithRun(() => browser.close());
  // A small window is painted sooner.
  page = await openPage(browser, "about:blank", { viewport: { width: 800, height: 600 } });
  await listen(page);
  await page.goto(server.url(workspace, { testsPath: path.join(out, "index.js") }), {
    timeout: 120_000,
  });
  await follow(events);
} catch (error) {
  results.failed("the run itself", error.stack);
}
if (page && results.failures > 0) {
  const file = path.join(shotsFolder(version), "host-failed.png");
  await page.screenshot({ path: file }).catch(() => undefined);
}
await endAll();
results.end();

async function bundle() {
  await build({
    entryPoints: [path.join(ROOT, "tests", "vscode", "host", "index.mjs")],
    outfile: path.join(out, "index.js"),
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    external: ["vscode", "mocha"],
    define: {
      "import.meta.url": JSON.stringify(
        pathToFileURL(path.join(ROOT, "tests/vscode/harness/ray.mjs")).href,
      ),
    },
    logLevel: "warning",
  });
}

/** The workbench calls these two when they exist. */
async function listen(workbench) {
  await workbench.exposeFunction("codeAutomationExit", (code) => results.exited(code));
  await workbench.exposeFunction("codeAutomationLog", (type, args) => {
    if (process.env.VERBOSE) console.log("|", type, ...args.slice(0, 3));
  });
}

/** Prints each test as it ends; the tests write one line of JSON per event. */
async function follow(events) {
  let read = 0;
  let lastEventAt = Date.now();
  const isSilent = () => Date.now() - lastEventAt > SILENCE_MS;
  await until(
    () => {
      const lines = fs.readFileSync(events, "utf8").split("\n").slice(0, -1);
      for (const line of lines.slice(read)) results.take(JSON.parse(line));
      if (lines.length > read) lastEventAt = Date.now();
      read = lines.length;
      return results.ended || results.exitCode !== undefined || isSilent();
    },
    "the tests in the extension host have ended",
    LIMIT_MS,
  );
  if (results.ended) return;
  if (results.exitCode === undefined)
    throw new Error("no test ended for minutes: the editor hangs");
  throw new Error(`the extension host ended with ${results.exitCode} before the tests had`);
}
