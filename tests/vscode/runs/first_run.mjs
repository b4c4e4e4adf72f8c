/** A new user's first minute: from an empty window to a stop in a worker of the sample; the pictures of the walkthrough. */

import * as fs from "node:fs";
import * as path from "node:path";
import { ROOT } from "../harness/ray.mjs";
import { until } from "../harness/until.mjs";

const PICTURES = path.join(ROOT, "media", "walkthrough");
const SAMPLE = path.join(ROOT, "samples", "rl_training", "policy.py");
const WINDOW = { x: 0, y: 34, width: 1500, height: 580 };
/** The start button of the driver, and the file of the workers beside it. */
const BESIDE = { x: 650, y: 34, width: 850, height: 480 };
const EDITOR = { x: 350, y: 34, width: 750, height: 420 };
const SIDE_BAR = { x: 0, y: 34, width: 750, height: 420 };

/** Keeps a part of the window as a picture of the walkthrough, if EAGLERAY_PICTURES asks for it. */
export async function picture({ page }, name, clip = WINDOW) {
  if (!process.env.EAGLERAY_PICTURES) return;
  fs.mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: path.join(PICTURES, `${name}.png`), clip });
}

/** The stage; for pictures with a home of its own, so that they show no path of this machine. */
export function withPictures(stage) {
  if (!process.env.EAGLERAY_PICTURES) return stage;
  const home = path.join(stage.base, "me");
  fs.mkdirSync(home);
  fs.symlinkSync(stage.env.VIRTUAL_ENV, path.join(home, ".venv"));
  const env = { HOME: home, PATH: "/usr/bin:/bin", VIRTUAL_ENV: path.join(home, ".venv") };
  const settings = { "breadcrumbs.enabled": false, "editor.minimap.enabled": false };
  Object.assign(stage.env, env);
  Object.assign(stage.settings, settings);
  return stage;
}

export async function firstRun({ window, test }) {
  const { page } = window;
  const lines = fs.readFileSync(SAMPLE, "utf8").split("\n");
  const line = lines.findIndex((text) => text.startsWith("        loss = ")) + 1;
  const button = (text) => page.locator(".welcome-view a.monaco-button", { hasText: text });
  const tab = (name) => page.locator(".tab", { hasText: name }).first();
  const runs = page.locator(".pane", { has: page.locator(".pane-header[aria-label^=Runs]") });
  const run = (text) => runs.locator(".monaco-list-row", { hasText: text });
  const closeEditors = () =>
    window.command("View: Close All Editors", async () => !(await tab(/./).isVisible()));
  const picker = page.locator(".quick-input-widget:visible");

  await test("a new user gets from an empty window to a stop in a worker", async () => {
    const since = Date.now();
    await window.openPanel();
    await window.waitFor(button("Open Sample Project"), "the button of the empty view");
    await window.shot("first-empty");
    await window.click(
      button("Open Sample Project"),
      async () => (await tab("policy.py").isVisible()) && (await tab("train.py").isVisible()),
      "the sample is open",
    );
    await until(
      async () => (await window.breakpointLines()).includes(line),
      "the sample has a breakpoint",
    );
    await window.shot("first-sample");
    await picture(window, "sample", BESIDE);
    await picture(window, "breakpoint", { ...WINDOW, x: 925, width: 575 });
    await window.click(
      page.locator('.editor-actions .action-label[aria-label^="Debug on Ray ("]').first(),
      () => window.toolbar().isVisible(),
      "a session is open",
    );
    await window.waitForStopAt(line);
    console.log(`From the empty window to the first stop: ${(Date.now() - since) / 1000} s`);
    await window.shot("first-stop");
    await picture(window, "debug", BESIDE);
  });

  await test("the paused workers of the sample have rows, and its interpreter can be selected", async () => {
    await window.openPanel();
    await window.waitFor(run(/policy-1/), "the row of a worker");
    await window.shot("first-ranks");
    await picture(window, "ranks", SIDE_BAR);
    await window.command("Eagleray: Select Interpreter for Ray Programs…", () =>
      picker
        .getByText(/Ray \d/)
        .first()
        .isVisible(),
    );
    await window.quickInput().fill("/nowhere/python");
    await window.waitFor(picker.getByText("This path doesn’t exist"), "why it can't be used");
    await window.shot("first-pasted");
    await window.quickInput().fill("");
    await window.shot("first-interpreter");
    await picture(window, "python", { ...EDITOR, y: 0 });
    await page.keyboard.press("Escape");
    await window.closeQuickInput();
  });

  await test("a sample that is stopped and removed leaves no row", async () => {
    await window.openPanel();
    await window.clickRowButton(
      run(/train\.py/),
      "Stop Run",
      () =>
        run(/train\.py.*cancelled/)
          .first()
          .isVisible(),
      "the run is over",
    );
    await window.fromMenu(
      run(/train\.py/),
      "Remove from List",
      async () => (await run(/train\.py/).count()) === 0,
      "the row is gone",
    );
    await window.command(
      "Remove All Breakpoints",
      async () => (await window.breakpointLines()).length === 0,
    );
    await window.waitForNone(page.locator(".xterm"), "the terminal of the removed run");
    await closeEditors();
  });

  await test("the walkthrough shows its steps and opens the sample report", async () => {
    const frame = page.frameLocator("iframe.webview.ready").frameLocator("#active-frame");
    await window.command(
      "View: Hide Panel",
      async () => !(await page.locator(".part.panel").isVisible()),
    );
    await window.command("Eagleray: Connect to Cluster", () => picker.isVisible());
    await window.shot("first-connect");
    await picture(window, "connect", { ...EDITOR, y: 0, height: 200 });
    await page.keyboard.press("Escape");
    await window.closeQuickInput();
    await window.command("Eagleray: Get Started: Debug Ray in 2 Minutes", () =>
      page.locator(".getting-started-step").first().isVisible(),
    );
    const steps = page.locator(".getting-started-step");
    for (const step of ["Select your Python", "Debug on Ray", "See where the time goes"]) {
      await window.click(
        steps.filter({ hasText: step }),
        () => page.locator(".getting-started-step.expanded", { hasText: step }).first().isVisible(),
        `the step “${step}” is open`,
      );
    }
    await window.shot("first-walkthrough");
    await window.click(
      page.locator(".getting-started-step.expanded .monaco-button", { hasText: "Sample Report" }),
      () => frame.getByText("all-reduce").first().isVisible(),
      "the sample report is open",
    );
    await window.shot("first-report");
    await picture(window, "profile", { ...WINDOW, x: 350, width: 1000 });
    await closeEditors();
  });
}
