/**
 * `npm run demo` as a user runs it, with all its scenarios: the address, the panel, a click in each, Ctrl-C, and nothing
 * left behind.
 *
 *     node tests/demo/demo.mjs
 */

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { launch, openPage } from "../vscode/harness/browser.mjs";
import { endAll, endWithRun } from "../vscode/harness/cleanup.mjs";
import { marked } from "../vscode/harness/processes.mjs";
import { ROOT } from "../vscode/harness/ray.mjs";
import { Results } from "../vscode/harness/results.mjs";
import { shotsFolder } from "../vscode/harness/stage.mjs";
import { until } from "../vscode/harness/until.mjs";
import { Window } from "../vscode/harness/window.mjs";

const results = new Results();
const id = randomBytes(8).toString("hex");
let output = "";
let window;

const script = join(ROOT, "scripts", "demo.mjs");
const demo = spawn(process.execPath, [script, "stuck", "profile", "agent"], {
  env: { ...process.env, EAGLERAY_DEMO_TEST: id, EAGLERAY_DISCOVERY: "off" },
  stdio: ["ignore", "pipe", "pipe"],
});
for (const stream of [demo.stdout, demo.stderr]) {
  stream.setEncoding("utf8").on("data", (text) => {
    output += text;
    process.stdout.write(text);
  });
}
const ended = new Promise((resolve) => demo.once("exit", resolve));
endWithRun(async () => {
  demo.kill("SIGINT");
  await ended;
});

await test("the demo prints the address of an editor", async () => {
  const address = /http:\/\/127\.0\.0\.1:\d+\/\?\S+/;
  await until(() => address.test(output) || demo.exitCode !== null, "the address", 300_000);
  const [url] = address.exec(output);
  if (!url.includes("tkn=")) throw new Error("the address carries no token");
  const browser = await launch();
  endWithRun(() => browser.close());
  window = new Window(await openPage(browser, url), shotsFolder("1.139"), "demo");
  await window.ready();
});

await test("the panel is open and lists paused workers", async () => {
  await window.waitFor(window.row(/PolicyWorker\.train.*4/), "the group");
  await window.waitFor(window.row(/rollout-1/), "the worker under post-mortem");
  await widenSideBar(window.page);
  await window.shot("paused");
});

// Before a session, whose toolbar would cover tabs.
await test("a report and an agent are open, and a server is in the list", async () => {
  const tab = (name) => window.page.locator(".tab", { hasText: name });
  const report = window.page.frameLocator("iframe.webview.ready >> visible=true");
  const ranges = report.frameLocator("#active-frame").getByText("NVTX ranges").first();
  await window.click(tab("policy-0.sqlite"), () => ranges.isVisible(), "the report is shown");
  await window.shot("report");
  await window.click(tab("math_agent.py"), () => lens("Run 64").isVisible(), "the agent is shown");
  await window.waitFor(window.rowOf("Runs", /demo.*ready/), "the server");
  await window.shot("agent");
});

await test("the run that hangs says why", async () => {
  const { page } = window;
  const shown = page.frameLocator("iframe.webview.ready >> visible=true");
  const sentence = shown.frameLocator("#active-frame").locator("h1", { hasText: /alice.*bob/ });
  await window.fromMenu(
    window.rowOf("Runs", /game\.py/),
    "Why Is It Stuck?",
    () => page.locator(".tab", { hasText: "Stuck?" }).first().isVisible(),
    "the picture has a tab",
  );
  await window.waitFor(sentence, "the sentence");
  await window.shot("stuck");
});

await test("a click on a worker shows the line after breakpoint()", async () => {
  const file = join(ROOT, "tests", "programs", "rl_training", "policy.py");
  await window.attach(
    window.row(/policy-0/),
    () => window.toolbar().isVisible(),
    "a session is open",
  );
  const lines = readFileSync(file, "utf8").split("\n");
  // Lines count from 1, and the worker is stopped in the line after the call.
  await window.waitForStopAt(lines.findIndex((line) => line.trim() === "breakpoint()") + 2);
  const shown = (text) =>
    window.page.locator(".debug-variables .monaco-list-row", { hasText: text }).first();
  await window.waitFor(shown("advantage"), "the variables");
  await window.page.mouse.move(750, 930);
  await window.shot("stopped-at-line");
});

await test("Ctrl-C ends everything that it started", async () => {
  const folder = /folder=([^&\s]+)/.exec(output)[1];
  demo.kill("SIGINT");
  await until(() => demo.exitCode !== null, "the demo has ended", 120_000);
  await until(
    () => marked("EAGLERAY_DEMO_TEST", id).length === 0,
    "nothing is left behind",
    60_000,
  );
  if (existsSync(decodeURIComponent(folder))) throw new Error(`${folder} is still there`);
});

window.gestures.report(results);
await endAll();
results.end();

function lens(title) {
  return window.page.locator(".codelens-decoration a", { hasText: title }).first();
}

/** Rows are cut off in the side bar's first width; the pictures should show them whole. */
async function widenSideBar(page) {
  const box = await page.locator(".part.sidebar").first().boundingBox();
  await page.mouse.move(box.x + box.width, 500);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width + 220, 500, { steps: 8 });
  await page.mouse.up();
  await page.mouse.move(1100, 930);
}

async function test(title, work) {
  const since = Date.now();
  try {
    await work();
    results.passed(title, Date.now() - since);
  } catch (error) {
    await window?.shot("failed").catch(() => undefined);
    results.failed(title, `${error.stack}\n${output}`);
    await endAll();
    results.end();
  }
}
