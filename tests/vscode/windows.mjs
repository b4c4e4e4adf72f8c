/**
 * Unusual windows: untrusted with a trap and rules in it, without a folder, two at once, closed; and what they show when files
 * differ, a worker is held for long, or one of their processes is killed.
 *
 *     node tests/vscode/windows.mjs [--vscode 1.139|1.105]
 */

import * as fs from "node:fs";
import * as path from "node:path";
import { openPage } from "./harness/browser.mjs";
import { markedWith } from "./harness/processes.mjs";
import { lineOf } from "./harness/ray.mjs";
import { browserRun } from "./harness/run.mjs";
import { writeSettings } from "./harness/server.mjs";
import { until } from "./harness/until.mjs";
import { Window } from "./harness/window.mjs";

/** How long a worker of this story is held before the reminder. */
const REMIND_S = "30";

await browserRun("windows", story, {
  linked: true,
  uploads: true,
  env: { EAGLERAY_REMIND_S: REMIND_S },
});

async function story({ stage, server, browser, window: usual, driver, test }) {
  const [after, atReturn] = ["after", "return"].map((mark) =>
    lineOf(path.join(stage.workspace, "policy.py"), mark),
  );
  const call = driver.call("p0", "train", 0);
  const open = async (folder) => {
    const page = await openPage(browser, server.url(folder));
    const other = new Window(page, usual.shotsFolder, usual.prefix, usual.gestures);
    other.shots = usual.shots + 10;
    await other.ready();
    return other;
  };
  const attach = async (where, name = "p0") => {
    // A session that is just ending would be mistaken for the new one.
    await where.waitForNone(where.toolbar(), "the session before");
    await where.attach(where.row(name), () => where.toolbar().isVisible(), "a session is open");
  };
  const disconnect = (window, call) =>
    window.click(window.button("Disconnect"), () => call.returned(), "the worker resumed");
  const processes = (argument) => markedWith("EAGLERAY_HOME", stage.home, argument);

  let bare;
  await test("a window without a folder takes over a worker from another window and shows its line", async () => {
    await usual.openPanel();
    await attach(usual);
    await usual.waitForStopAt(after);
    bare = await open("");
    await bare.openPanel();
    await bare.waitFor(bare.worker("p0", "debugging"), "the worker as attached elsewhere");
    await attach(bare);
    await bare.waitForStopAt(after);
    await bare.shot("no-folder");
    // The first one's session ends and the worker does not notice.
    await usual.waitForNone(usual.toolbar(), "the session of the first window");
    await until(() => call.returned() === undefined, "it still waits", 1000);
  });

  await test("a closed window keeps the worker held", async () => {
    await bare.close();
    await usual.openPanel();
    await usual.waitFor(usual.row(/p0.*held/), "the worker as held");
    await until(() => call.returned() === undefined, "it still waits", 1000);
  });

  await test("one of two windows with automatic attach attaches", async () => {
    writeSettings(server.folders, { ...stage.settings, "eagleray.autoAttach": "first" });
    const both = [usual, await open(stage.workspace)];
    for (const window of both) {
      await window.openPanel();
      await window.waitFor(window.row(/p0.*held/), "the worker that was left on purpose");
    }
    const calls = [driver.call("p1", "train", 1)];
    for (const rank of [1, 2]) {
      const attached = await until(
        () => windowWithSession(both, rank),
        `a session in p${rank} started automatically`,
      );
      const other = both.find((window) => window !== attached);
      await other.openPanel();
      await other.waitFor(other.worker(`p${rank}`, "debugging"), "the worker as attached");
      if (rank === 1) {
        calls.push(driver.call("p2", "train", 2));
        await other.waitFor(other.worker("p2", "paused"), "the next worker as paused");
      }
      // If the other window had wanted to attach as well, it would have done so before this.
      await other.command("Eagleray: Refresh", () => other.row(`p${rank}`).first().isVisible());
      if (await other.toolbar().isVisible()) throw new Error("both windows have a session");
      await other.shot(`left-to-another-${rank}`);
      await disconnect(attached, calls[rank - 1]);
    }
    writeSettings(server.folders, stage.settings);
    await both[1].close();
  });

  await test("a reminder about a worker that is held for long can resume it", async () => {
    await until(() => call.returned() === undefined, "it still waits", 1000);
    await usual.openPanel();
    await usual.waitFor(usual.row(/p0.*held/), "the worker as held");
    await usual.answerMessage(
      /p0.* has been held for \d+ (s|m)/,
      "Resume",
      () => call.returned() !== undefined,
      "that it is held for long",
    );
    await usual.clearMessages();
  });

  let callOfP1;
  await test("a killed extension host keeps the worker held, and a click returns to its line", async () => {
    callOfP1 = driver.call("p1", "train", 0);
    await usual.openPanel();
    await attach(usual, "p1");
    await usual.waitForStopAt(after);
    await usual.toggleBreakpoint(atReturn, true);
    for (const pid of processes("--type=extensionHost")) process.kill(pid, "SIGKILL");
    await usual.waitForNone(usual.toolbar(), "the session");
    await usual.openPanel();
    await usual.waitFor(usual.row(/p1.*held/), "the worker as held");
    await usual.shot("after-the-extension-host");
    await attach(usual, "p1");
    await usual.waitForStopAt(after);
    await usual.waitFor(usual.breakpoints(), "the breakpoint from before");
    await usual.click(
      usual.button("Continue"),
      () => usual.isStoppedAt(atReturn),
      "it stopped at the breakpoint from before",
    );
  });

  await test("a killed adapter is reported, and the worker resumes", async () => {
    await usual.clearMessages();
    for (const pid of processes("adapter")) process.kill(pid, "SIGKILL");
    await usual.waitForMessage(/debug adapter stopped.*have resumed/, "that the adapter ended");
    await usual.waitForNone(usual.toolbar(), "the session");
    await usual.shot("without-the-adapter");
    if ((await callOfP1.result()).value !== 5) throw new Error("the worker did not resume");
    const next = driver.call("p1", "train", 0);
    await usual.openPanel();
    await attach(usual, "p1");
    await usual.waitForStopAt(after);
    await disconnect(usual, next);
  });

  await test("a file that differs from the worker's version is reported with a button that shows the difference", async () => {
    const steps = path.join(stage.workspace, "steps.py");
    const text = fs.readFileSync(steps, "utf8");
    fs.writeFileSync(steps, text.replace("[advances]", "[advances] changed since"));
    const differing = driver.call("p2", "train_in_library", 0);
    await usual.openPanel();
    await attach(usual, "p2");
    await usual.waitForStopAt(lineOf(steps, "advances"));
    const tab = usual.page.locator(".tab", { hasText: "worker ↔ yours" });
    await usual.answerMessage(
      "another version of steps.py",
      "Show Difference",
      () => tab.first().isVisible(),
      "that the files differ",
    );
    await usual.waitFor(
      usual.page.locator(".monaco-diff-editor .view-line", { hasText: "changed since" }),
      "what differs",
    );
    await usual.shot("difference");
    await disconnect(usual, differing);
    fs.writeFileSync(steps, text);
  });

  await test("an untrusted workspace executes none of its files", async () => {
    driver.call("p2", "train", 0);
    await usual.openPanel();
    await attach(usual, "p2");
    await usual.waitForStopAt(after);
    await usual.close();
    const trap = layTrap(stage);
    const settings = { ...stage.settings };
    delete settings["eagleray.python"];
    writeSettings(server.folders, {
      ...settings,
      "security.workspace.trust.enabled": true,
      "security.workspace.trust.startupPrompt": "never",
    });
    const untrusted = await open(trap.folder);
    await untrusted.waitFor(
      untrusted.page.getByText("Restricted Mode"),
      "that the workspace is not trusted",
    );
    await untrusted.openPanel();
    await untrusted.waitFor(
      untrusted.row(/p2.*held/),
      "the worker as held, though the workspace is not trusted",
    );
    await untrusted.shot("untrusted");
    await diagnosesWithoutRules(untrusted);
    await until(() => !fs.existsSync(trap.sprung), "the trap was not sprung", 1000);
  });
}

/** The window that has a session in the worker whose call was given this step. */
async function windowWithSession(windows, step) {
  for (const window of windows) {
    const state = window.page.locator(".debug-variables .monaco-list-row", {
      hasText: `'step': ${step},`,
    });
    if (await state.first().isVisible()) return window;
  }
  return undefined;
}

/** A log is diagnosed by our rules only; the page names the workspace's rules that don't count. */
async function diagnosesWithoutRules(window) {
  const { page } = window;
  const shown = page
    .frameLocator("iframe.webview.ready >> visible=true")
    .frameLocator("#active-frame");
  await page.keyboard.press("Control+Shift+E");
  await window.fromMenu(
    page.locator(".explorer-folders-view .monaco-list-row", { hasText: "train.log" }).first(),
    "Diagnose",
    () => shown.locator("h1", { hasText: /it broke/ }).isVisible(),
    "the page names the error, and no rule of the workspace",
  );
  const ignored = shown.getByText(/doctor-rules\.json: Trust this workspace to use its rules\./);
  await window.click(
    shown.locator("summary", { hasText: "Not checked (1)" }),
    () => ignored.isVisible(),
    "the page says which rules don't count",
  );
  await window.shot("untrusted-diagnosis");
}

/** A workspace whose Pythons say so when they are run. */
function layTrap(stage) {
  const folder = path.join(stage.base, "untrusted");
  const sprung = path.join(stage.base, "sprung");
  const script = `#!/bin/sh\necho "$0 $@" >> "${sprung}"\nexec python3 "$@"\n`;
  for (const file of [".venv/bin/python", ".venv/bin/python3", "venv/bin/python", "evil"]) {
    fs.mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    fs.writeFileSync(path.join(folder, file), script, { mode: 0o755 });
  }
  fs.mkdirSync(path.join(folder, ".vscode"));
  const settings = { "eagleray.python": path.join(folder, "evil") };
  fs.writeFileSync(path.join(folder, ".vscode", "settings.json"), JSON.stringify(settings));
  const rule = {
    id: "their-rule",
    pattern: "it broke in layer",
    meaning: "A rule of this workspace.",
    fix: "None.",
    source: "here",
  };
  fs.mkdirSync(path.join(folder, ".eagleray"));
  const rules = path.join(folder, ".eagleray", "doctor-rules.json");
  fs.writeFileSync(rules, JSON.stringify({ format: 1, rules: [rule] }));
  fs.writeFileSync(path.join(folder, "train.log"), "ERROR:root:it broke in layer 3\n");
  fs.writeFileSync(path.join(folder, "sitecustomize.py"), `open(${JSON.stringify(sprung)}, "w")\n`);
  return { folder, sprung };
}
