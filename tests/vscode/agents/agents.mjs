/**
 * An agent in the editor, against the tests' engine: from the line above its class to a stop in it, to a wave with a
 * failed item that is debugged, and to the command of an integration test.
 */

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { createInterface } from "node:readline";
import { interpreter } from "../../../scripts/environments.mjs";
import { assertAccessible, frameOf } from "../harness/accessibility.mjs";
import { endWithRun } from "../harness/cleanup.mjs";
import { openFile, pastePath } from "../harness/files.mjs";
import { lineOf, python, ROOT } from "../harness/ray.mjs";
import { until } from "../harness/until.mjs";

const PROGRAM = path.join(ROOT, "tests", "vscode", "agents", "counting.py");
const ENGINE_PYTHON = interpreter("engine");
const KEY = "sk-engine-of-the-story";

export async function agents({ stage, window, test }) {
  const { page } = window;
  const folder = path.join(stage.workspace, "agents");
  const file = path.join(folder, "counting.py");
  const tab = (name) => page.locator(".tab.active", { hasText: name });
  const lens = (title) => page.locator(".codelens-decoration a", { hasText: title });
  const rows = page.locator(".quick-input-list .monaco-list-row");
  const terminal = page.locator(".part.panel .xterm-rows");

  /** Selects a row of the list that is open. */
  const pick = (row, effect, what) => window.click(rows.filter({ hasText: row }), effect, what);

  await test("an agent has lines above its class", async () => {
    fs.mkdirSync(folder);
    fs.copyFileSync(PROGRAM, file);
    fs.symlinkSync(path.dirname(path.dirname(ENGINE_PYTHON)), path.join(folder, ".venv"));
    await addServer(stage);
    await openFile(window, folder, "counting.py", () => tab("counting.py").first().isVisible());
    await window.waitFor(lens("Debug"), "the line above the class");
    assert.equal(await lens("Debug").count(), 2, "of two classes");
    await window.shot("agent-lenses");
  });

  await test("“Debug” stops in the agent, with the item that was entered", async () => {
    const line = lineOf(file, "asks");
    await window.toggleBreakpoint(line, true);
    await window.click(lens("Debug"), () => rows.first().isVisible(), "the sources of data");
    await window.shot("agent-data");
    const hint = page.locator(".quick-input-message", { hasText: "JSON, as" });
    await pick("Enter an Item", () => hint.first().isVisible(), "the field");
    await window.quickInput().fill('{"n": 3}');
    await window.key("Enter", () => window.toolbar().isVisible(), "a session is open");
    await window.waitForStopAt(line);
    await window.shot("agent-stop");
    await window.evaluate("data.update(n=5) or data['n'] + 2", "7");
    // The call stack names the same line, in a new process that has the same item.
    await window.click(
      window.button("Restart"),
      async () => !(await window.toolbar().isVisible()),
      "the first session is over",
    );
    await window.waitForStopAt(line);
    await window.evaluate("data['n'] * 1111", "3333");
    await window.shot("agent-restarted");
    await window.click(
      window.button("Continue"),
      async () => !(await window.toolbar().isVisible()),
      "the session is over",
    );
    const contract = terminal.getByText(/returns a valid reward/);
    await window.command("Terminal: Focus on Terminal View", () => contract.first().isVisible());
    await window.shot("agent-contract");
    await window.toggleBreakpoint(line, false);
  });

  await test("“Run 64 × 8” names the line that blocks, and opens it", async () => {
    const shown = page
      .frameLocator("iframe.webview.ready >> visible=true")
      .frameLocator("#active-frame");
    const verdict = shown.locator(".verdict", { hasText: "time.sleep(0.03)" });
    const data = [1, 2, 3, 4].map((n) => `{"n": ${n}}`).join(" , ");
    await openFile(window, folder, "counting.py", () => tab("counting.py").first().isVisible());
    const hint = page.locator(".quick-input-message", { hasText: "JSON, as" });
    await window.click(
      lens("Run 64").nth(1),
      () => rows.first().isVisible(),
      "the sources of data",
    );
    await pick("Enter an Item", () => hint.first().isVisible(), "the field");
    await window.quickInput().fill(`[${data}]`);
    await window.key("Enter", () => shown.locator("h1").first().isVisible(), "the page");
    await window.waitFor(shown.getByText("Done"), "the figures");
    await window.shot("wave-runs");
    await window.waitFor(verdict, "the verdict");
    await window.waitFor(shown.getByText(/ValueError: two is not rewarded/), "the failure");
    await window.shot("wave");
    await shown.locator('[role=grid] [tabindex="0"]').focus();
    for (const key of ["ArrowDown", "End", "ArrowLeft"]) await page.keyboard.press(key);
    await window.waitFor(shown.locator("button:focus", { hasText: "Open Trace" }), "its button");
    await window.shot("wave-keys");
    await assertAccessible(await frameOf(shown.locator("body")));
    const line = lineOf(file, "blocks");
    const cursor = page.locator(".statusbar-item", { hasText: `Ln ${line}, Col` });
    await window.click(
      verdict.locator("button.source"),
      () => cursor.first().isVisible(),
      "the line that blocks is open",
    );
    await window.shot("wave-source");
  });

  await test("a failed run of the wave opens its trace", async () => {
    const shown = page
      .frameLocator("iframe.webview.ready >> visible=true")
      .frameLocator("#active-frame");
    await window.click(
      shown.locator("button", { hasText: "Open Trace" }),
      () => tab("Trace of").first().isVisible(),
      "the trace",
    );
    // Beside the wave, which may stay visible.
    const trace = page
      .frameLocator("iframe.webview.ready >> visible=true")
      .last()
      .frameLocator("#active-frame");
    await window.waitFor(trace.getByText("two is not rewarded"), "the exception");
    // Content above it is drawn later.
    const inSight = () =>
      trace
        .locator("#item-title")
        .evaluate((title) => Math.abs(title.getBoundingClientRect().top) < window.innerHeight / 2);
    await until(inSight, "the trajectory is in sight");
    await window.shot("wave-trace");
  });

  await test("“Debug This Item” stops in the item that failed, alone", async () => {
    const shown = page
      .frameLocator("iframe.webview.ready >> visible=true")
      .frameLocator("#active-frame");
    const line = lineOf(file, "fails");
    const debugItem = shown.locator("button", { hasText: "Debug This Item" });
    // The trace covers the wave, or the file beside it.
    await window.click(
      tab("Trace of").locator(".tab-actions .action-label"),
      async () => (await tab("Trace of").count()) === 0,
      "the trace is closed",
    );
    await window.waitFor(debugItem, "the wave beside the file");
    await window.toggleBreakpoint(line, true);
    await window.click(debugItem.first(), () => window.toolbar().isVisible(), "a session is open");
    await window.waitForStopAt(line);
    const variables = page.locator(".debug-variables .monaco-list-row");
    await window.waitFor(variables.filter({ hasText: /^n\s*=?\s*2/u }), "the variable of the item");
    await window.shot("wave-debugged");
    await window.click(
      window.button("Continue"),
      async () => !(await window.toolbar().isVisible()),
      "no other run of the wave stops",
    );
    await window.click(debugItem.first(), () => window.toolbar().isVisible(), "another session");
    await window.waitForStopAt(line);
    await window.toggleBreakpoint(line, false);
    await window.command("Debug: Stop", async () => !(await window.toolbar().isVisible()));
    await window.openPanel();
    await window.waitFor(window.row(/Blocking.*cancelled/), "the run that has ended");
    assert.equal(await page.getByText(/is still paused/).count(), 0, "it asks nothing");
    await window.shot("wave-stopped");
  });

  await test("“Run Integration Test…” writes its command into a terminal", async () => {
    const titled = (text) => page.locator(".quick-input-widget:visible", { hasText: text });
    const [config, data] = ["counting_grpo.yaml", "numbers.jsonl"].map((name) =>
      path.join(stage.workspace, name),
    );
    fs.writeFileSync(config, "experiment_name: counting\n");
    fs.writeFileSync(data, '{"n": 1}\n');
    const printed = async () => (await terminal.allInnerTexts()).join("").replace(/\s/gu, "");
    const command = "eagleray agent integrate";
    await window.command("Eagleray: Run Integration Test", () =>
      titled("Select an agent").isVisible(),
    );
    const configuration = titled("Select the Configuration");
    await pick("Counting", () => configuration.isVisible(), "the class");
    await pastePath(window, config, () => titled("Select Data for counting_grpo.yaml").isVisible());
    await pastePath(window, data, async () =>
      (await printed()).includes(command.replace(/ /gu, "")),
    );
    const text = await printed();
    for (const part of ["counting.py:Counting", "counting_grpo.yaml", "numbers.jsonl"]) {
      assert.ok(text.includes(part), part);
    }
    await window.shot("integration-test");
  });
}

/** Serves the tests' model, and adds its address to the servers of the stage. */
async function addServer(stage) {
  const engine = spawn(ENGINE_PYTHON, ["-m", "tests.engine"], {
    cwd: ROOT,
    env: { ...process.env, LLAMA_API_KEY: KEY },
    stdio: ["ignore", "pipe", "ignore"],
  });
  endWithRun(() => engine.kill());
  const lines = createInterface({ input: engine.stdout });
  for await (const line of lines) {
    const [, url] = /^listening on (\S+)/.exec(line) ?? [];
    if (url === undefined) continue;
    const eagleray = path.join(path.dirname(python()), "eagleray");
    execFileSync(eagleray, ["serve", "add", url, "--name", "engine", "--key-env", "ENGINE_KEY"], {
      env: { ...process.env, ...stage.env, ENGINE_KEY: KEY },
    });
    return;
  }
  throw new Error("the engine doesn't listen");
}
