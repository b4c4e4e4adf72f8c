/**
 * Runs mocha inside the extension host of a real VS Code, against a real Ray cluster.
 *
 *     node tests/vscode/host.mjs [--vscode 1.139|1.105] [--only WORDS]
 */

import * as fs from "node:fs";
import * as path from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { launch, openPage } from "./harness/browser.mjs";
import { options, Results } from "./harness/results.mjs";
import { ROOT } from "./harness/ray.mjs";
import { start } from "./harness/server.mjs";
import { setStage, shotsFolder } from "./harness/stage.mjs";
import { until } from "./harness/until.mjs";

const LIMIT_MS = 8 * 60_000;

const { version, only } = options();
const results = new Results();
const out = path.join(ROOT, "out", `host-${version}-${process.pid}`);
let stage, server, browser, page;
try {
  await bundle();
  stage = await setStage();
  const told = path.join(stage.base, "results.jsonl");
  fs.writeFileSync(told, "");
  const { cluster, workspace } = stage;
  const test = {
    cluster: { ...cluster, stop: undefined },
    workspace,
    base: stage.base,
    told,
    only,
  };
  server = await start({
    version,
    extensionDir: ROOT,
    folder: workspace,
    settings: stage.settings,
    env: { ...stage.env, EAGLERAY_TEST: JSON.stringify(test) },
    say: console.log,
  });
  browser = await launch();
  page = await openPage(browser, "about:blank");
  await listen(page);
  await page.goto(server.url(workspace, { testsPath: path.join(out, "index.js") }));
  await follow(told);
} catch (error) {
  results.failed("the run itself", error.stack);
} finally {
  if (page && results.failures > 0) {
    await page
      .screenshot({ path: path.join(shotsFolder(version), "host-failed.png") })
      .catch(() => {});
  }
  if (server && results.failures > 0) console.log(server.logs());
  await browser?.close();
  await server?.stop();
  await stage?.stop();
  fs.rmSync(out, { recursive: true, force: true });
}
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
async function listen(where) {
  await where.exposeFunction("codeAutomationExit", (code) => results.exited(code));
  await where.exposeFunction("codeAutomationLog", (type, args) => {
    if (process.env.VERBOSE) console.log("|", type, ...args.slice(0, 3));
  });
}

/** Prints each test as it ends; the tests write one line of JSON per event. */
async function follow(told) {
  let read = 0;
  await until(
    () => {
      const lines = fs.readFileSync(told, "utf8").split("\n").slice(0, -1);
      for (const line of lines.slice(read)) results.take(JSON.parse(line));
      read = lines.length;
      return results.ended || results.exitCode !== undefined;
    },
    "the tests in the extension host have ended",
    LIMIT_MS,
  );
  if (!results.ended)
    throw new Error(`the extension host ended with ${results.exitCode} before the tests had`);
}
