/**
 * The page of a report in a real VS Code, with mouse and keys, in a dark and in a light theme; and a run that is
 * recorded by a real nsys, gathered and read.
 *
 *     node tests/vscode/profiling.mjs [--vscode 1.139|1.105]
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import * as path from "node:path";
import { nsys } from "../../scripts/nsys.mjs";
import { setStageAlone } from "./harness/alone.mjs";
import { python, ROOT } from "./harness/ray.mjs";
import { browserRun } from "./harness/run.mjs";
import { writeSettings } from "./harness/server.mjs";
import { until } from "./harness/until.mjs";

async function setStageWithReports() {
  const stage = await setStageAlone();
  // Workers look there and the sidecar here; the editor gives its extensions a PATH of its own.
  Object.assign(stage.env, { CUDA_HOME: path.dirname(path.dirname(nsys)), EAGLERAY_NSYS: nsys });
  const args = ["-m", "tests.profiling.page_report", stage.workspace];
  execFileSync(python(), args, { cwd: ROOT });
  return stage;
}

function whyNot() {
  const said = path.join(path.dirname(path.dirname(nsys)), "why-not.txt");
  return existsSync(said) ? readFileSync(said, "utf8").trim() : `there is no ${nsys}`;
}

await browserRun(
  "profiling",
  async ({ stage, server, window, test }) => {
    const { page } = window;
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const list = page.locator(".quick-input-widget:visible");
    const input = list.locator("input").first();
    const choice = (words) => list.locator(".monaco-list-row", { hasText: words }).first();
    const report = page
      .frameLocator("iframe.webview.ready >> visible=true")
      .frameLocator("#active-frame");
    const section = (id) => report.locator(`section#${id}`);
    const kernels = section("kernels");
    const firstRow = kernels.locator("tbody tr").first();
    const heading = (title) => kernels.locator("th", { hasText: title });
    const total = kernels.locator("vscode-badge");
    const search = kernels.locator("vscode-textfield");
    const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
    const focused = () => report.locator("td:focus, th:focus").first();

    async function openFile(name, effect) {
      await window.gesture(
        async () => {
          await page.keyboard.press("Escape");
          await page.keyboard.press("Control+p");
          await input.waitFor({ timeout: 4000 });
          await input.fill(name);
          const found = page.locator(".quick-input-list .monaco-list-row.focused", {
            hasText: name,
          });
          await found.first().waitFor({ timeout: 4000 });
          await page.keyboard.press("Enter");
        },
        effect,
        `${name} is open`,
        20_000,
      );
    }

    const press = (name, effect, what) =>
      window.click(report.locator("vscode-button", { hasText: name }), effect, what);

    await test("a report opens as a page that says how busy its GPU was", async () => {
      await openFile("policy.nsys-rep", () => kernels.isVisible());
      await window.sees(report.getByText("busy 70.5 %"), "the busy share");
      await window.sees(report.getByText("NCCL 14.3 % of the busy time"), "the share of NCCL");
      await window.sees(report.locator(".curve canvas"), "the curve");
      await window.sees(firstRow.getByText("ncclDevKernel_AllReduce"), "the longest kernel first");
      for (const id of ["nvtx", "gaps", "memcpy", "cuda_api", "osrt", "threads"]) {
        await window.sees(section(id).locator("tbody td"), `rows of ${id}`);
      }
      await window.shot("report");
    });

    await test("a hostile name is text on one line", async () => {
      const name = section("nvtx").locator("td", { hasText: "<img src=x" }).first();
      await window.sees(name, "the name as it is");
      assert.equal(await report.locator("img").count(), 0);
      assert.doesNotMatch(await name.textContent(), /[\u001b\u202e]/);
    });

    await test("a click on a heading sorts, and once more turns it round", async () => {
      const sorted = (order) => heading("Kernel").and(report.locator(`[aria-sort=${order}]`));
      await window.click(
        heading("Kernel"),
        () => sorted("ascending").isVisible(),
        "sorted from A to Z",
      );
      await window.click(
        heading("Kernel"),
        () => sorted("descending").isVisible(),
        "sorted from Z to A",
      );
      await window.sees(firstRow.getByText("gemm_9<"), "the last name first");
    });

    await test("a search leaves the rows that have the text in them", async () => {
      await window.gesture(
        async () => {
          await search.locator("input").fill("ALLREDUCE");
        },
        async () => (await total.textContent()) === "1",
        "one row is left",
      );
      await window.shot("searched");
      await search.locator("input").fill("");
      await until(async () => (await total.textContent()) === "61", "all rows are back", 20_000);
    });

    await test("tables and the whole page are copied", async () => {
      const copy = (title) => kernels.locator("vscode-button", { hasText: title });
      await window.click(
        copy("Copy as CSV"),
        async () => (await clipboard()).startsWith("Kernel,Count,Total (ns)"),
        "CSV is in the clipboard",
      );
      assert.match(await clipboard(), /"?ncclDevKernel_AllReduce_Sum_f32\(void\)"?,40,200000000,/);
      await window.click(
        copy("Copy as Markdown"),
        async () => (await clipboard()).startsWith("| Kernel | Count | Total |"),
        "Markdown is in the clipboard",
      );
      await press(
        "Copy as Markdown",
        async () => (await clipboard()).startsWith("# policy.nsys-rep"),
        "the summary is in the clipboard",
      );
      await window.sees(report.locator("#said", { hasText: "clipboard" }), "that it was copied");
    });

    await test("keys lead through a table, and Enter on a heading sorts", async () => {
      await heading("Kernel").focus();
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("ArrowRight");
      assert.match(await focused().textContent(), /Total/);
      await page.keyboard.press("Enter");
      const sorted = heading("Total").and(report.locator("[aria-sort=descending]"));
      await window.sees(sorted, "the largest first");
      assert.match(await focused().textContent(), /Total/);
      await page.keyboard.press("Control+End");
      await window.sees(kernels.locator("tbody tr").last().locator("td:focus"), "the last cell");
      await page.keyboard.press("Control+Home");
      assert.match(await focused().textContent(), /Kernel/);
      await page.keyboard.press("Shift+Tab");
      await page.keyboard.press("Shift+Tab");
      const button = kernels.locator("vscode-button:focus", { hasText: "Copy as Markdown" });
      await window.sees(button, "the button before the table");
    });

    await test("what was searched stands there when the page comes back", async () => {
      await search.locator("input").fill("gemm_1");
      await until(async () => (await total.textContent()) === "11", "the rows found", 20_000);
      await openFile("train.py", async () => !(await kernels.isVisible()));
      await openFile("policy.nsys-rep", () => kernels.isVisible());
      await until(async () => (await total.textContent()) === "11", "the same rows", 20_000);
      assert.equal(await search.locator("input").inputValue(), "gemm_1");
    });

    await test("without Nsight Systems it is said what to do with the file", async () => {
      await report.locator("vscode-button", { hasText: "Open in Nsight Systems" }).click();
      await window.answer(
        /Nsight Systems/,
        "Copy Path",
        async () => (await clipboard()).endsWith("policy.nsys-rep"),
        "that it is not here",
      );
      await window.clearMessages();
    });

    await test("the page has the colours of a light theme at once", async () => {
      writeSettings(server.folders, {
        ...stage.settings,
        "workbench.colorTheme": "Default Light Modern",
      });
      const light = () =>
        report.locator("body").evaluate((body) => body.classList.contains("vscode-light"));
      await until(light, "the page is light", 30_000);
      await window.shot("light");
    });

    await test("a file that is no report says so, and what to do", async () => {
      const state = report.locator("section.state");
      await openFile("empty.nsys-rep", () => state.isVisible());
      await window.sees(state.getByText("has 0 bytes"), "what is wrong");
      await window.sees(state.locator("vscode-button", { hasText: "Read It Again" }), "a way on");
      await window.shot("empty");
    });

    await test("“Profile Workers…” is a form that starts nothing before it is said who", async () => {
      await openFile("train.py", async () => !(await report.locator("body").isVisible()));
      await window.command("Eagleray: Profile Workers", () =>
        choice("Profiled Workers").isVisible(),
      );
      assert.equal(await choice("Start").count(), 0);
      await window.gesture(
        () => choice("Profiled Workers").click({ timeout: 4000 }),
        async () => /Patterns of name/.test(await input.getAttribute("placeholder")),
        "one is asked who",
      );
      await input.fill("*Policy*");
      await window.shot("who");
      await window.key("Enter", () => choice("Start").isVisible(), "it can be started");
      await window.sees(choice("Profiled Workers").getByText("*Policy*"), "the patterns");
      await window.shot("form");
    });

    if (!existsSync(nsys)) {
      console.log(`    no nsys can be had here, so nothing is recorded: ${whyNot()}`);
      await window.key("Escape", async () => !(await list.isVisible()), "the form is closed");
      return;
    }

    const runs = page.locator(".pane", { has: page.locator(".pane-header[aria-label^=Runs]") });
    const row = (words) => runs.locator(".monaco-list-row", { hasText: words });

    /** A button of a row, which appears below the mouse. */
    const inline = (at, name, effect, what) =>
      window.gesture(
        async () => {
          await row(at).first().hover({ timeout: 4000 });
          const button = row(at).first().locator(`.action-label[aria-label^="${name}"]`);
          await button.first().click({ timeout: 4000 });
          await window.rest();
        },
        effect,
        what,
        20_000,
      );

    await test("its workers run under nsys, and are recorded when one says so", async () => {
      await window.gesture(
        () => choice("Start").click({ timeout: 4000 }),
        () => page.locator(".terminal-outer-container").first().isVisible(),
        "the program runs",
        20_000,
      );
      await window.openPanel();
      await window.sees(row(/policy-1.*profiled/), "that a worker is profiled");
      await inline(
        /train\.py.*profiled/,
        "Record Now",
        () => row(/policy-1.*recording/).isVisible(),
        "the workers record",
      );
      await window.shot("recording");
      await inline(
        /train\.py.*recording/,
        "Stop Recording",
        () => row(/policy-1.*(writing|report)/).isVisible(),
        "the recording is over",
      );
    });

    await test("“Finish and Gather” brings the reports here, and one opens", async () => {
      const dialog = page.locator(".monaco-dialog-box");
      await window.fromMenu(
        row(/train\.py/),
        "Finish and Gather",
        () => dialog.isVisible(),
        "one is asked",
      );
      await dialog.locator(".monaco-button", { hasText: "Finish and Gather" }).click();
      await window.sees(row(/train\.py.*2 reports gathered/), "that both reports are here");
      await window.shot("gathered");
      await window.answer(
        /2 reports gathered/,
        "Open Report",
        () => choice("nsys-rep").isVisible(),
        "that the reports are here",
      );
      await window.gesture(
        () => choice("nsys-rep").click({ timeout: 4000 }),
        () => section("osrt").isVisible(),
        "its page is open",
        30_000,
      );
      await window.shot("recorded");
    });
  },
  {
    stage: setStageWithReports,
    settings: { "workbench.colorTheme": "Default Dark Modern" },
    driver: false,
  },
);
