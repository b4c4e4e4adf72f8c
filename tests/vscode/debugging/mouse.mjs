/** Debugging with the mouse: from the icon to the last worker. */

import * as path from "node:path";
import { openFile } from "../harness/files.mjs";
import { lineOf } from "../harness/ray.mjs";
import { until } from "../harness/until.mjs";

export async function withMouse({ stage, window, driver, test }) {
  const { page } = window;
  const policy = path.join(stage.workspace, "policy.py");
  const line = (mark) => lineOf(policy, mark);
  const paused = (name) => window.row(name);
  let calls;

  await test("the icon opens the panel, which shows the cluster while nothing is paused", async () => {
    await window.openPanel();
    await window.waitFor(page.getByText("No worker is paused."), "the empty view");
    await window.shot("nothing-paused");
  });

  await test("paused workers appear in a group, with a badge and a notification", async () => {
    calls = ["p0", "p1", "p2"].map((name) => driver.call(name, "train", 3));
    await window.waitFor(window.row(/Policy\.train.*3/), "the group");
    await window.waitFor(paused("p2"), "the third worker");
    await window.waitFor(window.icon().locator("..").getByText("3", { exact: true }), "the badge");
    await window.waitForMessage("workers paused at", "that workers are paused");
    await window.assertRowsAreWhole("Paused");
    await window.shot("paused-workers");
    await window.clearMessages();
  });

  await test("a click on a worker shows the line after its breakpoint(), with variables", async () => {
    await window.attach(paused("p0"), () => window.toolbar().isVisible(), "a session is open");
    await window.waitForStopAt(line("after"));
    const variables = page.locator(".debug-variables .monaco-list-row");
    await window.waitFor(variables.filter({ hasText: "rewards" }), "the variable rewards");
    await window.shot("stopped-at-line");
  });

  await test("a gutter breakpoint stops the worker", async () => {
    await window.toggleBreakpoint(line("return"), true);
    await window.click(
      window.button("Continue"),
      () => window.isStoppedAt(line("return")),
      "it stopped there",
    );
    await window.shot("gutter-breakpoint");
  });

  await test("the debug console evaluates an expression", async () => {
    await window.evaluate("state['step'] * 376", "3008");
    await window.shot("debug-console");
  });

  await test("a second worker gets a session beside the first", async () => {
    await window.openPanel();
    await window.waitFor(window.worker("p0", "debugging"), "the first worker as attached");
    await window.attach(
      paused("p1"),
      () => sessionRow("p1 (rank 1)").isVisible(),
      "a second session is listed",
    );
    await window.waitFor(sessionRow("p0 (rank 0)"), "the first session");
    await window.waitForStopAt(line("after"));
    const status = page.locator(".statusbar-item", { hasText: "p1 (rank 1) · 1 more paused" });
    await window.waitFor(status, "the debugged worker in the status bar");
    await window.waitForMark("← rank 1 · 2 paused");
    await window.shot("two-sessions");
    await window.click(
      status.locator("a"),
      () =>
        page.locator(".quick-input-list .monaco-list-row", { hasText: "p2 (rank 2)" }).isVisible(),
      "the paused workers are listed",
    );
    await window.shot("picker");
    await page.keyboard.press("Escape");
  });

  await test("a reload keeps both workers, and a click returns to the same line and breakpoint", async () => {
    await page.reload({ waitUntil: "domcontentloaded" });
    await window.ready();
    await window.openPanel();
    await window.waitFor(window.row(/p0.*held/), "the first worker as held");
    await window.waitFor(window.row(/p1.*held/), "the second worker as held");
    await window.assertRowsAreWhole("Paused");
    // VS Code restores the open editors only if it had stored them before the reload, which it does at times.
    const tab = page.locator(".tab", { hasText: "policy.py" });
    await openFile(window, stage.workspace, "policy.py", () => tab.first().isVisible());
    await window.waitForMark("rank 0 paused");
    await window.shot("held");
    await until(
      () => calls.slice(0, 2).every((call) => call.returned() === undefined),
      "both still wait",
      1000,
    );
    await window.attach(
      paused("p1"),
      () => window.toolbar().isVisible(),
      "a session is open again",
    );
    await window.waitForStopAt(line("after"));
    await window.waitFor(window.breakpoints(), "the breakpoint from before the reload");
    await window.click(
      window.button("Continue"),
      () => window.isStoppedAt(line("return")),
      "it stopped there",
    );
    await window.shot("back");
  });

  await test("Disconnect resumes the worker", async () => {
    await window.click(
      window.button("Disconnect"),
      () => calls[1].returned() !== undefined,
      "the worker has finished",
    );
  });

  await test("Continue and Continue All Others in the panel resume workers", async () => {
    await window.openPanel();
    const again = driver.call("p1", "train", 0);
    await window.waitFor(window.worker("p1", "rank 1, paused"), "the worker is paused again");
    await window.fromMenu(
      paused("p0"),
      "Continue All Others",
      () => calls[2].returned() && again.returned(),
      "the other worker resumes",
    );
    await until(
      async () => !(await paused("p1").or(paused("p2")).first().isVisible()),
      "their rows are gone",
    );
    await window.fromMenu(
      paused("p0"),
      "Detach and Resume",
      () => calls[0].returned(),
      "it is released",
    );
    await window.waitFor(page.getByText("No worker is paused."), "an empty list");
    await window.shot("all-gone");
  });

  function sessionRow(name) {
    return page.locator(".debug-call-stack .monaco-list-row", { hasText: name }).first();
  }
}
