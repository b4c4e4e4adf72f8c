/** The first problem of a run that lives: in one message, the status bar and the list of problems, until the run is removed. */

import assert from "node:assert/strict";
import { openFile } from "../harness/files.mjs";

const CAUSE = "A GPU ran out of memory: 2.00 GiB needed.";

export async function liveProblem({ stage, window, test }) {
  const { page } = window;
  const run = (text) => window.rowOf("Runs", text);
  const tab = (name) => page.locator(".tab.active", { hasText: name }).first();
  const place = page.locator('.statusbar-item[id$="eagleray.problem"]').locator("visible=true");
  const problems = page.locator(".part.panel .markers-panel .monaco-list-row");
  const line = problems.filter({ hasText: CAUSE });

  await test("a line of a live run shows its cause in a message, the status bar and the problems", async () => {
    await openFile(window, stage.workspace, "crowded.py", () => tab("crowded.py").isVisible());
    await window.command(
      "Eagleray: Debug on Ray",
      async () => (await run(/crowded\.py/).count()) > 0,
      "the run is listed",
    );
    await window.waitForMessage(`crowded.py: ${CAUSE}`, "the message about the cause");
    await window.waitFor(run(/crowded\.py.*running/), "the run, which lives");
    await window.waitFor(place.filter({ hasText: "crowded.py" }), "its place in the status bar");
    const [label] = await place
      .locator("a")
      .evaluateAll((all) => all.map((each) => each.getAttribute("aria-label")));
    assert.match(label, new RegExp(`crowded\\.py: ${CAUSE}`));
    await window.command("Problems: Focus on Problems View", () => line.first().isVisible());
    // Neither what follows from it nor what comes later has a line or a message.
    assert.equal(await line.count(), 1);
    assert.doesNotMatch((await problems.allTextContents()).join(), /gloo|open files/);
    // The progress of the start may still be shown.
    assert.equal(await window.notification("crowded.py:").count(), 1);
    await window.shot("live-problem");
  });

  await test("the place in the status bar leads to the diagnosis, and goes with the run", async () => {
    const shown = page
      .frameLocator("iframe.webview.ready >> visible=true")
      .frameLocator("#active-frame");
    await window.clearMessages();
    await window.click(
      place.locator("a"),
      () => shown.locator("h1", { hasText: CAUSE }).isVisible(),
      "the page names the cause",
    );
    await window.shot("live-problem-diagnosis");
    await window.command("View: Close All Editors", async () => !(await tab(/./).isVisible()));
    await window.clickRowButton(
      run(/crowded\.py.*running/),
      "Stop Run",
      async () => (await run(/crowded\.py.*cancelled/).count()) === 1,
      "the run is over",
    );
    await window.waitForNone(place, "its place in the status bar");
    assert.equal(await line.count(), 1);
    await window.fromMenu(
      run(/crowded\.py/),
      "Remove from List",
      async () => (await run(/crowded\.py/).count()) === 0,
      "the row is gone",
    );
    await window.waitForNone(line, "its line in the list of problems");
    await window.shot("live-problem-removed");
  });
}
