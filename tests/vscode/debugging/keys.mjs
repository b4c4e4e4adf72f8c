/**
 * Every key of package.json, and the whole way without a mouse: connect, attach, continue, open the options, start, show
 * the output, remove.  Then the window at 200 %.
 */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { openFile as open } from "../harness/files.mjs";
import { OptionsPage } from "../harness/options_page.mjs";
import { lineOf, ROOT } from "../harness/ray.mjs";
import { until } from "../harness/until.mjs";

const { contributes } = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8"));
const pressed = new Set();
/** As the workers of verl are called. */
export const LONG_NAME = "WorkerDict_ActorRolloutRefWorker_0:3";

export async function withKeys({ stage, window, driver, test }) {
  const { page } = window;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const input = window.quickInput();
  const options = new OptionsPage(window);
  const list = page.locator(".pane-body .monaco-list:focus");
  const focused = list.locator(".monaco-list-row.focused");
  const terminal = page.locator(".part.panel .xterm-rows");
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  const clusterOf = new URL(stage.cluster.address);
  const cluster = window.rowOf("Clusters", `local (${clusterOf.port})`);
  const runs = (text) => window.rowOf("Runs", text);
  const after = lineOf(path.join(stage.workspace, "policy.py"), "after");
  const program = 'import sys\n\nprint("arguments:", *sys.argv[1:])\n';
  writeFileSync(path.join(stage.workspace, "hello.py"), program);

  /** Presses the key of a command. */
  async function press(command, effect, what, view = "") {
    const { key } = contributes.keybindings.find(
      (binding) => binding.command === `eagleray.${command}` && binding.when.includes(view),
    );
    await window.key(keyOf(key), effect, what);
    pressed.add(`${command} ${key}`);
  }

  async function focusOn(view) {
    await window.command(`Eagleray: Focus on ${view} View`, async () => {
      const header = page.locator(".pane.expanded", { has: list });
      return (await header.locator(`.pane-header[aria-label^="${view}"]`).count()) > 0;
    });
  }

  /** Goes down the focused list to a row by its spoken text. */
  async function walkTo(text) {
    await page.keyboard.press("Home");
    for (let row = 0; row < 30; row += 1) {
      await until(async () => (await focused.count()) > 0, "a row has the focus");
      if (text.test((await focused.first().getAttribute("aria-label")) ?? "")) return;
      await page.keyboard.press("ArrowDown");
      await page.waitForTimeout(100);
    }
    throw new Error(`no row has ${text}`);
  }

  await test("a key removes the cluster", async () => {
    await window.openPanel();
    await window.waitFor(cluster, "the row of the cluster");
    await focusOn("Clusters");
    await walkTo(/^cluster local/);
    // The row is selected by the key that opens and folds it.
    await page.keyboard.press("Enter");
    const isGone = async () => (await cluster.count()) === 0;
    await press("removeCluster", isGone, "the cluster is gone", "clusters");
  });

  await test("the keyboard connects to a cluster", async () => {
    await window.waitFor(window.icon(), "the extension, without which no command is listed");
    // The palette is a quick input as well.
    const dialog = page.locator(".quick-input-widget:visible", { hasText: "Connect to" });
    const isAsked = async () =>
      (await dialog.first().isVisible()) && (await input.inputValue()) === "";
    await window.command("Eagleray: Connect to Cluster", isAsked);
    await input.fill(clusterOf.host);
    await page.keyboard.press("Enter");
    await window.openPanel();
    await window.waitFor(cluster, "the row of the cluster");
  });

  await test("keys attach to a paused worker, copy its name and continue it", async () => {
    const calls = ["p0", "p1", "p2"].map((name) => driver.call(name, "train", 3));
    await window.waitFor(window.row(/Policy\.train.*3/), "the group of all workers");
    await focusOn("Paused");
    await walkTo(/^p0, /);
    await window.key("Enter", () => window.toolbar().isVisible(), "a session is open");
    // A session that begins moves the focus to the line of its stop.
    await window.waitForStopAt(after);
    await focusOn("Paused");
    await walkTo(/^p0, /);
    const isCopied = async () => /^p0/.test(await clipboard());
    await press("copyWorkerName", isCopied, "its name is in the clipboard", "pausedWorkers");
    await press(
      "continue",
      () => calls[0].returned() !== undefined,
      "the worker continues",
      "pausedWorkers",
    );
    const session = page.locator(".debug-call-stack .monaco-list-row", { hasText: /p[12]/ });
    await press("attachNext", () => session.first().isVisible(), "the next worker is attached");
    await window.waitForStopAt(after);
    await press(
      "continueAll",
      () => calls.every((call) => call.returned() !== undefined),
      "all workers continue",
    );
    const status = page.locator(".statusbar-item", { hasText: "p1 (rank 1) · running" });
    await window.waitFor(status, "that the worker with the session runs");
  });

  await test("a key starts the program in the editor, and another one starts it again", async () => {
    const tab = page.locator(".tab.active", { hasText: "hello.py" });
    await open(window, stage.workspace, "hello.py", () => tab.isVisible());
    const ended = (number) => async () => (await runs(/hello\.py.*exited/).count()) === number;
    await window.command("View: Focus Active Editor Group", () =>
      page.locator(".editor-instance .monaco-editor.focused").first().isVisible(),
    );
    await press("debug", () => terminal.first().isVisible(), "its output is open");
    await window.openPanel();
    await until(ended(1), "the run has ended", 60_000);
    await press("rerunLast", ended(2), "it has run again");
    await window.shot("runs");
  });

  await test("the keyboard opens the options, starts, and shows the output", async () => {
    const tab = page.locator(".tab.active", { hasText: "hello.py" });
    await open(window, stage.workspace, "hello.py", () => tab.isVisible());
    await window.command("Eagleray: Debug on Ray with Options", () => options.isOpen());
    await until(() => options.hasFocus("Arguments"), "the focus is in the page");
    await page.keyboard.type("--steps 3");
    await window.waitFor(options.status("Ready to start"), "that it can start");
    await window.waitFor(options.frame.locator(".command", { hasText: "--steps 3" }), "it");
    const says = options.frame.locator("#spoken", { hasText: /Ready to start.*--steps 3/ });
    await until(async () => (await says.count()) === 1, "the command is announced");
    await window.key(
      "Control+Enter",
      () =>
        runs(/hello\.py --steps 3.*exited/)
          .first()
          .isVisible(),
      "it has run",
    );
    await window.shot("options");
  });

  await test("keys copy the command of a run, show its output and remove it", async () => {
    await focusOn("Runs");
    await walkTo(/^run hello\.py --steps 3/);
    await window.key(
      "Enter",
      async () => {
        // The terminals of other runs are hidden.
        const shown = await terminal.locator("visible=true").allTextContents();
        return /arguments:--steps3/.test(shown.join("").replace(/\s/g, ""));
      },
      "its output is shown",
    );
    await focusOn("Runs");
    await walkTo(/^run hello\.py --steps 3/);
    const isCopied = async () => /hello\.py.* --steps 3/.test(await clipboard());
    await press("copyCommand", isCopied, "its command is in the clipboard", "runs");
    const isGone = async () => (await runs(/--steps 3/).count()) === 0;
    await press("removeRun", isGone, "it is removed", "runs");
  });

  await test("at 200 % every view shows rows, whole and within the window", async () => {
    const call = driver.call(LONG_NAME, "train", 3);
    await window.waitFor(window.worker(LONG_NAME, "rank 3"), "a paused worker with a long name");
    const size = page.viewportSize();
    await page.setViewportSize({ width: size.width / 2, height: size.height / 2 });
    await window.command(
      "View: Hide Panel",
      async () => !(await page.locator(".part.panel").isVisible()),
    );
    await window.openPanel();
    await window.shot("200");
    for (const view of ["Paused", "Runs", "Clusters"]) {
      const box = await window.rowOf(view, /./).first().boundingBox();
      assert.ok(box !== null && box.y + box.height <= size.height / 2, `${view} has a row`);
      await window.assertRowsAreWhole(view);
    }
    await page.setViewportSize(size);
    await window.settled(window.worker(LONG_NAME, "rank 3"));
    await focusOn("Paused");
    await press("continueAll", () => call.returned() !== undefined, "the worker continues");
  });

  await test("the status bar detaches from workers that run with a session", async () => {
    const status = page.locator(".statusbar-item", { hasText: "· running" });
    const entry = page.locator(".quick-input-list .monaco-list-row", { hasText: "Detach from" });
    await window.click(status.locator("a"), () => entry.isVisible(), "its list is open");
    await window.shot("running");
    await window.gesture(
      async () => {
        await input.fill("Detach from");
        await page.keyboard.press("Enter");
      },
      async () => !(await window.toolbar().isVisible()),
      "no session is left",
    );
  });

  await test("every key was pressed", () => {
    const all = contributes.keybindings.map(
      ({ command, key }) => `${command.replace("eagleray.", "")} ${key}`,
    );
    assert.deepEqual([...pressed].sort(), all.sort());
    return Promise.resolve();
  });
}

/** "ctrl+shift+f6" as the browser names it. */
function keyOf(key) {
  const names = { ctrl: "Control", shift: "Shift", enter: "Enter", delete: "Delete" };
  const named = key.split("+").map((part) => names[part] ?? part.replace(/^f/, "F"));
  return named.join("+");
}
