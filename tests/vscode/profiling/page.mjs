/** The page of a report, with mouse and keys, in a dark and in a light theme. */

import assert from "node:assert/strict";
import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { assertAccessible, frameOf } from "../harness/accessibility.mjs";
import { writeSettings } from "../harness/server.mjs";
import { until } from "../harness/until.mjs";
import { locatorsOf } from "./locators.mjs";

export async function reportPage({ stage, server, window, test }) {
  const { page } = window;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const { report, section, state, press, clipboard, openFile } = locatorsOf(window, stage);
  const kernels = section("kernels");
  const firstRow = kernels.locator("tbody tr").first();
  const heading = (title) => kernels.locator("th", { hasText: title });
  const total = kernels.locator(".badge");
  const search = kernels.locator("vscode-textfield");
  const focused = () => report.locator("td:focus, th:focus").first();

  await test("a report opens as a page that shows how busy its GPU was", async () => {
    // Before the editor knows the extension, a report is a text for it.
    await window.waitFor(window.icon(), "the extension");
    await openFile("policy.nsys-rep", () => kernels.isVisible());
    await window.waitFor(report.getByText("busy 70.5 %"), "the busy share");
    await window.waitFor(report.getByText("NCCL 14.3 % of the busy time"), "the share of NCCL");
    await window.waitFor(report.locator(".curve canvas"), "the curve");
    await window.waitFor(firstRow.getByText("ncclDevKernel_AllReduce"), "the longest kernel first");
    for (const id of ["nvtx", "gaps", "memcpy", "cuda_api", "osrt", "threads"]) {
      await window.waitFor(section(id).locator("tbody td"), `rows of ${id}`);
    }
    await window.shot("report");
  });

  await test("a hostile name is shown as text on one line", async () => {
    const name = section("nvtx").locator("td", { hasText: "<img src=x" }).first();
    await window.waitFor(name, "the name as it is");
    assert.equal(await report.locator("img").count(), 0);
    assert.doesNotMatch(await name.textContent(), /[\u001b\u202e]/);
  });

  await test("a click on a heading sorts the table, and the next click reverses the order", async () => {
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
    await window.waitFor(firstRow.getByText("gemm_9<"), "the last name first");
  });

  await test("a search leaves the rows that contain the text", async () => {
    await window.gesture(
      async () => {
        await search.locator("input").fill("ALLREDUCE");
      },
      async () => (await total.textContent()) === "1",
      "one row is left",
    );
    await window.shot("searched");
    await search.locator("input").fill("");
    await until(async () => (await total.textContent()) === "61", "all rows are back");
  });

  await test("the buttons copy tables and the whole page", async () => {
    const copy = (title) => kernels.locator("button", { hasText: title });
    await window.click(
      copy("Copy as CSV"),
      async () => (await clipboard()).startsWith("kernel,count,total_ns,"),
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
    await window.waitFor(
      report.locator("#announcement", { hasText: "Copied the summary." }),
      "that it was copied",
    );
  });

  await test("keys move through a table, and Enter on a heading sorts it", async () => {
    await heading("Kernel").focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    assert.match(await focused().textContent(), /Total/);
    await page.keyboard.press("Enter");
    const sorted = heading("Total").and(report.locator("[aria-sort=descending]"));
    await window.waitFor(sorted, "the largest first");
    assert.match(await focused().textContent(), /Total/);
    await page.keyboard.press("Control+End");
    await window.waitFor(kernels.locator("tbody tr").last().locator("td:focus"), "the last cell");
    await page.keyboard.press("Control+Home");
    assert.match(await focused().textContent(), /Kernel/);
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Shift+Tab");
    const button = kernels.locator("button:focus", { hasText: "Copy as Markdown" });
    await window.waitFor(button, "the button before the table");
  });

  await test("a page that is reopened keeps its search", async () => {
    await search.locator("input").fill("gemm_1");
    await until(async () => (await total.textContent()) === "11", "the rows found");
    await openFile("train.py", async () => !(await kernels.isVisible()));
    await openFile("policy.nsys-rep", () => kernels.isVisible());
    await until(async () => (await total.textContent()) === "11", "the same rows");
    assert.equal(await search.locator("input").inputValue(), "gemm_1");
  });

  await test("a search that fails shows no rows, and the next one does", async () => {
    const file = path.join(stage.workspace, "policy.nsys-rep");
    renameSync(file, `${file}.away`);
    await search.locator("input").fill("gemm_2");
    await window.waitFor(kernels.getByText("Can't read"), "why there are no rows");
    assert.equal(await kernels.locator("tbody tr").count(), 0);
    await window.waitForMessage(/Can't read/, "that it failed");
    await window.shot("not-answered");
    await window.clearMessages();
    renameSync(`${file}.away`, file);
    await search.locator("input").fill("gemm_1");
    await until(async () => (await total.textContent()) === "11", "the rows are back");
  });

  await test("a missing Nsight Systems is reported with the path to copy", async () => {
    await report.locator("button", { hasText: "Open in Nsight Systems" }).click();
    await window.answerMessage(
      /Nsight Systems/,
      "Copy Path",
      async () => (await clipboard()).endsWith("policy.nsys-rep"),
      "that it is not here",
    );
    await window.clearMessages();
  });

  await test("Nsight Systems starts with the file, and its failure is reported", async () => {
    const program = path.join(stage.base, "fake");
    const argumentsFile = `${program} arguments`;
    // It writes its arguments to a file, and fails as the real program does where it can't open a window.
    writeFileSync(program, '#!/bin/sh\nprintf "%s\\n" "$@" > "$0 arguments"\nexit 3\n');
    chmodSync(program, 0o755);
    await window.applySettings(server, {
      ...stage.settings,
      "eagleray.profiling.nsightSystems": program,
    });
    await window.gesture(
      () => report.locator("button", { hasText: "Open in Nsight Systems" }).click(),
      () => existsSync(argumentsFile),
      "the program runs",
    );
    await window.waitForMessage(/fake ended with 3/, "that it failed");
    await window.shot("nsight-failed");
    const file = path.join(stage.workspace, "policy.nsys-rep");
    assert.equal(readFileSync(argumentsFile, "utf8"), `${file}\n`);
    await window.clearMessages();
  });

  await test("the page takes the colours of a light theme at once", async () => {
    writeSettings(server.folders, {
      ...stage.settings,
      "workbench.colorTheme": "Default Light Modern",
    });
    const light = () =>
      report.locator("body").evaluate((body) => body.classList.contains("vscode-light"));
    await until(light, "the page is light");
    await assertAccessible(await frameOf(report.locator("body")));
    await window.shot("light");
  });

  await test("a file that isn't a report shows an error and the next step", async () => {
    await openFile("empty.nsys-rep", () => state.isVisible());
    await window.waitFor(state.getByText("is empty"), "what is wrong");
    await window.waitFor(state.locator("button", { hasText: "Read It Again" }), "the next step");
    await window.shot("empty");
  });
}
