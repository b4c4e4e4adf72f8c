/** A person with a mouse, in a real VS Code on a real training program: from the icon to the last worker. */

import * as path from "node:path";
import { lineOf } from "../harness/ray.mjs";
import { until } from "../harness/until.mjs";

export async function withMouse({ stage, window, driver, test }) {
  const { page } = window;
  const policy = path.join(stage.workspace, "policy.py");
  const line = (mark) => lineOf(policy, mark);
  const paused = (name) => window.row(name);
  let calls;

  await test("the panel opens by its icon and says what it sees while nothing is paused", async () => {
    await window.openPanel();
    await window.sees(page.getByText(/Ray 2\.\d+.*none paused/), "what the cluster says of itself");
    await window.shot("nothing-paused");
  });

  await test("paused workers appear by themselves, grouped, with a badge and a notification", async () => {
    calls = ["p0", "p1", "p2"].map((name) => driver.call(name, "train", 3));
    await window.sees(window.row(/Policy\.train.*3 paused/), "the group");
    await window.sees(paused("p2"), "the third worker");
    await window.sees(window.icon().locator("..").getByText("3", { exact: true }), "the badge");
    await window.seesMessage("paused at a breakpoint()", "that workers are paused");
    await window.shot("paused-workers");
    await window.clearMessages();
  });

  await test("one click stands at the line after breakpoint(), with variables", async () => {
    await window.attach(paused("p0"), () => window.toolbar().isVisible(), "a session has begun");
    await window.standsAt(line("after"));
    const variables = page.locator(".debug-variables .monaco-list-row");
    await window.sees(variables.filter({ hasText: "rewards" }), "the variable rewards");
    await window.shot("standing");
  });

  await test("a breakpoint set in the gutter stops", async () => {
    await window.toggleBreakpoint(line("return"), true);
    await window.click(
      window.button("Continue"),
      () => window.isAt(line("return")),
      "it stopped there",
    );
    await window.shot("gutter-breakpoint");
  });

  await test("the debug console evaluates", async () => {
    await window.evaluates("state['step'] * 376", "3008");
    await window.shot("debug-console");
  });

  await test("a second worker is debugged beside the first", async () => {
    await window.openPanel();
    await window.sees(window.row(/p0.*attached/), "the first worker as attached");
    await window.attach(
      paused("p1"),
      () => sessionRow("r1 p1").isVisible(),
      "a second session is listed",
    );
    await window.sees(sessionRow("r0 p0"), "the first session");
    await window.standsAt(line("after"));
    await window.shot("two-sessions");
  });

  await test("a reload holds both, and a click is back at the same line with the same breakpoint", async () => {
    await page.reload({ waitUntil: "domcontentloaded" });
    await window.ready();
    await window.openPanel();
    await window.sees(window.row(/p0.*held/), "the first worker as held");
    await window.sees(window.row(/p1.*held/), "the second worker as held");
    await window.shot("held");
    await until(
      () => calls.slice(0, 2).every((call) => call.now() === undefined),
      "both still wait",
      1000,
    );
    await window.attach(
      paused("p1"),
      () => window.toolbar().isVisible(),
      "a session has begun again",
    );
    await window.standsAt(line("after"));
    await window.sees(window.breakpoints(), "the breakpoint from before the reload");
    await window.click(
      window.button("Continue"),
      () => window.isAt(line("return")),
      "it stopped there",
    );
    await window.shot("back");
  });

  await test("Disconnect lets the worker run on", async () => {
    await window.click(
      window.button("Disconnect"),
      () => calls[1].now() !== undefined,
      "the worker has finished",
    );
  });

  await test("Continue and Continue All Others let workers go from the panel", async () => {
    await window.openPanel();
    const again = driver.call("p1", "train", 0);
    await window.sees(window.row(/p1.*(breakpoint|policy\.py|rank)/), "the worker is paused again");
    await window.fromMenu(
      paused("p0"),
      "Continue All Others",
      () => calls[2].now() && again.now(),
      "the other one runs on",
    );
    await window.fromMenu(paused("p0"), "Release", () => calls[0].now(), "it is released");
    await window.sees(page.getByText(/none paused/), "an empty list");
    await window.shot("all-gone");
  });

  function sessionRow(name) {
    return page.locator(".debug-call-stack .monaco-list-row", { hasText: name }).first();
  }
}
