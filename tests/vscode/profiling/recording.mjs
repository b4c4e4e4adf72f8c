/** A run that is recorded by a real nsys, from its form to the page of a report that it has left. */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import * as path from "node:path";
import { nsys } from "../../../scripts/nsys.mjs";
import { OptionsPage } from "../harness/options_page.mjs";
import { locatorsOf } from "./locators.mjs";

function whyNot() {
  const file = path.join(path.dirname(path.dirname(nsys)), "why-not.txt");
  return existsSync(file) ? readFileSync(file, "utf8").trim() : `${nsys} does not exist`;
}

/** The whole output of the only run; its terminal shows only the last lines. */
function outputOfRun(home) {
  const runs = path.join(home, "runs");
  const [id] = readdirSync(runs).filter((name) => existsSync(path.join(runs, name, "output.log")));
  return readFileSync(path.join(runs, id, "output.log"), "utf8");
}

export async function profiledRun({ stage, window, test }) {
  const { page } = window;
  const locators = locatorsOf(window, stage);
  const { list, input, choice, report, section, openFile } = locators;

  const options = new OptionsPage(window);

  await test("“Profile on Ray (nsys)…” starts nothing before the workers are chosen", async () => {
    await openFile("train.py", async () => !(await report.locator("h1").isVisible()));
    await window.command("Eagleray: Profile on Ray", () =>
      options.field("Workers to record").isVisible(),
    );
    await window.click(
      options.button("Start"),
      () => options.problem("Choose the workers to record.").isVisible(),
      "the workers are asked for",
    );
    await window.shot("who");
    await options.fill("Workers to record", "*Policy*");
    await window.waitFor(options.status("Ready to start"), "that it can be started");
    await window.waitFor(options.frame.getByText(/ray [\d.]+ ✓/), "the Ray of its Python");
    if (existsSync(nsys)) {
      const found = options.frame.getByText(`Found on this machine: ${nsys}`);
      await window.waitFor(found, "the nsys of the setting");
    }
    await options.checkAccessibility();
    await window.shot("form");
  });

  if (!existsSync(nsys)) {
    console.log(`    nsys is not available, so nothing is recorded: ${whyNot()}`);
    return;
  }

  const row = (text) => locators.row("Runs", text);

  const inline = (at, name, effect, what) => window.clickRowButton(row(at), name, effect, what);

  const all = (text) => locators.row("Clusters", text);

  const hasText = async (name, text) => (await row(name).first().textContent()).includes(text);
  /** Whether the rows of both policies have these texts now. */
  const states = async (first, second) =>
    (await hasText(/policy-0/, first)) && (await hasText(/policy-1/, second));

  await test("a wrong path of nsys is asked about before the start, and replaced in the page", async () => {
    const dialog = page.locator(".monaco-dialog-box");
    const warning = options.problem("/nowhere/nsys was not found on this machine.");
    await options.fill("Path of nsys", "/nowhere/nsys");
    await window.waitFor(warning, "the warning");
    await window.gesture(
      () => options.button("Start").click(),
      () => dialog.isVisible(),
      "the question",
    );
    await window.waitFor(options.status("Waiting for your answer"), "what the page waits for");
    await window.shot("nsys-question");
    await window.gesture(
      () => dialog.getByRole("button", { name: "Enter Path" }).click(),
      () => input.isVisible(),
      "the box for the path",
    );
    await input.fill("/nowhere/else");
    await window.waitFor(
      page.getByText("No program was found at this path."),
      "that it is no program",
    );
    await window.shot("nsys-path");
    await input.fill(nsys);
    await page.keyboard.press("Enter");
    await window.waitFor(
      page.locator(".terminal-outer-container").first(),
      "the output of the program",
    );
    assert.equal(await options.field("Path of nsys").inputValue(), nsys);
    await window.waitForNone(warning, "the warning");
    await window.shot("nsys-entered");
  });

  await test("Start Recording records the workers that run under nsys", async () => {
    await window.openPanel();
    await window.waitFor(row(/policy-1.*profiled/), "that a worker is profiled");
    await inline(
      /train\.py.*profiled/,
      "Start Recording",
      () => states("recording", "recording"),
      "the workers record",
    );
    await window.shot("recording");
  });

  await test("the view Clusters records one worker, and a whole class", async () => {
    await window.command("Eagleray: Connect to Cluster", () => input.isVisible());
    await input.fill(/127\.0\.0\.1:\d+/.exec(outputOfRun(stage.env.EAGLERAY_HOME))[0]);
    await page.keyboard.press("Enter");
    const group = all(/Policy/);
    const worker = all(/policy-1/);
    await window.waitForNone(window.quickInput(), "the box of the address");
    await window.waitFor(all(/local/), "the cluster of the run");
    await window.gesture(
      () => all(/local/).first().locator(".monaco-tl-twistie").click(),
      () =>
        all(/train\.py.*driver/)
          .first()
          .isVisible(),
      "the workers of its only node",
    );
    await window.command("Eagleray: Group by Class", () => group.first().isVisible());
    await window.gesture(
      () => group.first().locator(".monaco-tl-twistie").click(),
      () => worker.first().isVisible(),
      "the group is unfolded",
    );
    const choosesFor = (at, title, first, second) =>
      window.fromMenu(at, title, () => states(first, second), `“${title}” has its effect`);
    await choosesFor(worker, "Stop Recording", "recording", "report");
    await choosesFor(worker, "Start Recording", "recording", "recording");
    await window.shot("workers-by-class");
    await choosesFor(group, "Stop Recording", "report", "report");
    await choosesFor(group, "Start Recording", "recording", "recording");
    await inline(
      /train\.py.*recording/,
      "Stop Recording",
      () => states("report", "report"),
      "the recording is over",
    );
  });

  await test("“Stop and Download Reports” downloads the reports, and one opens", async () => {
    const dialog = page.locator(".monaco-dialog-box");
    await window.fromMenu(
      row(/train\.py/),
      "Stop and Download Reports",
      () => dialog.isVisible(),
      "the question is shown",
    );
    await dialog.locator(".monaco-button", { hasText: "Stop and Download Reports" }).click();
    await window.waitFor(row(/train\.py.*5 reports/), "that all reports are here");
    await window.shot("gathered");
    await window.answerMessage(
      /Downloaded 5 reports/,
      "Open Report",
      () => choice("nsys-rep").isVisible(),
      "that the reports are here",
    );
    const rows = list.locator(".monaco-list-row", { hasText: "nsys-rep" });
    const names = await rows.evaluateAll((elements) =>
      elements
        .sort((a, b) => Number(a.dataset.index) - Number(b.dataset.index))
        .map((element) => element.querySelector(".label-name").textContent),
    );
    assert.equal(names.length, 5);
    assert.deepEqual([...names], [...names].sort(), "in the order of the ranks");
    assert.match(names[0], /^policy-0/);
    await window.shot("reports");
    await window.gesture(
      () => choice("nsys-rep").click(),
      () => section("osrt").isVisible(),
      "its page is open",
    );
    assert.match(await report.locator("h1").textContent(), /^policy-0/);
    await window.shot("recorded");
  });
}
