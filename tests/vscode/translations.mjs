/**
 * Everything that a user reads is translated: the editor and Eagleray are shown in a pseudo-language, and no view,
 * command, page or message has a text in English.  In Chinese, views, errors and diagnoses are.
 *
 *     node tests/vscode/translations.mjs [--vscode 1.139]
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { PSEUDO, pseudo } from "../../scripts/texts/pseudo.mjs";
import { frameOf } from "./harness/accessibility.mjs";
import { endWithRun } from "./harness/cleanup.mjs";
import { openFile } from "./harness/files.mjs";
import { OptionsPage } from "./harness/options_page.mjs";
import { python, ROOT } from "./harness/ray.mjs";
import { browserRun } from "./harness/run.mjs";
import { setStageWithoutCluster } from "./harness/stage_without_cluster.mjs";
import { chineseWindow } from "./translations/chinese.mjs";
import { makeExtension } from "./translations/translated_extension.mjs";
import { untranslated, visibleTexts } from "./translations/untranslated.mjs";

/** The list of commands has only the visible rows in the page, and fewer pages than this. */
const COMMAND_PAGES = 12;
const DRAWN_MS = 150;

async function setStageWithReports() {
  const stage = await setStageWithoutCluster();
  const args = ["-m", "tests.profile.reports.page_report", stage.workspace];
  execFileSync(python(), args, { cwd: ROOT });
  return stage;
}

const extensionDir = makeExtension("--pseudo");
endWithRun(() => fs.rmSync(extensionDir, { recursive: true, force: true }));

await browserRun(
  "translations",
  async ({ stage, window, test, ...first }) => {
    const { page } = window;
    const options = new OptionsPage(window);
    const input = window.quickInput();
    const picker = ".quick-input-widget";
    const command = (title) => `Eagleray: ${pseudo(title)}`;
    const tab = (name) => page.locator(".tab.active", { hasText: name });
    const open = (name) =>
      openFile(window, stage.workspace, name, () => tab(name).first().isVisible());

    /** `frame` is the page or a frame in it. */
    async function assertTranslated(selector, what, frame = page) {
      const texts = await frame.evaluate(visibleTexts, selector);
      assert.ok(
        texts.some((text) => text.includes("⟦")),
        `${what} has no translated text: ${texts.join(" | ")}`,
      );
      // A path is in no language, with or without spaces.
      const bare = texts.map((text) => text.replaceAll(stage.workspace, "/"));
      assert.deepEqual(untranslated(bare), [], what);
    }

    await test("the views and their buttons are translated", async () => {
      const welcome = page.locator(".sidebar .welcome-view a.monaco-button");
      await window.click(window.icon(), () => welcome.first().isVisible(), "the panel is open");
      await window.shot("views");
      await assertTranslated(".sidebar, .activitybar a[aria-label^=Eagleray]", "the views");
    });

    await test("the titles of all commands are translated", async () => {
      await page.keyboard.press("F1");
      await input.waitFor();
      await input.fill(">Eagleray: ");
      const names = page.locator(`${picker} .monaco-list-row .label-name`);
      // The editor joins category and title by a text of its own; below it is the English title, which is found, too.
      const ours = /^⟦Eagleray: /;
      await window.waitFor(names.filter({ hasText: ours }), "our commands");
      await window.shot("commands");
      const titles = new Set();
      for (let step = 0; step < COMMAND_PAGES; step += 1) {
        for (const name of await names.allTextContents()) if (ours.test(name)) titles.add(name);
        await page.keyboard.press("PageDown");
        await page.waitForTimeout(DRAWN_MS);
      }
      assert.ok(titles.size >= 25, [...titles].join(" | "));
      assert.deepEqual(untranslated(titles), []);
      await page.keyboard.press("Escape");
    });

    await test("a question and what is wrong with its answer are translated", async () => {
      await window.command(command("Connect to Cluster (SSH, Tunnel)…"), () => input.isVisible());
      const problem = page.locator(`${picker} .quick-input-message`, { hasText: "8265" });
      await input.fill("no address");
      await page.keyboard.press("Enter");
      await window.waitFor(problem, "why it is not an address");
      await window.shot("question");
      await assertTranslated(picker, "the question");
    });

    await test("an error from the sidecar is translated", async () => {
      await input.fill("127.0.0.1:1");
      await page.keyboard.press("Enter");
      await window.waitForMessage("127.0.0.1:1", "why it was not added");
      await window.shot("error");
      await assertTranslated(".notifications-toasts, .notifications-center", "the error");
    });

    await test("a cluster that can't be reached and the status bar are translated", async () => {
      const add = window.notification("127.0.0.1:1").locator(".monaco-button", {
        hasText: pseudo("Add Anyway"),
      });
      const item = page.locator('.statusbar-item[id*="eagleray"]');
      await window.click(add, () => item.first().isVisible(), "the cluster is added");
      await window.shot("status-bar");
      await assertTranslated('.sidebar, .statusbar-item[id*="eagleray"]', "cluster and status bar");
    });

    await test("the run options and their problems are translated", async () => {
      await open("train.py");
      const args = options.field(pseudo("Arguments"));
      await window.command(command("Debug on Ray with Options (Ranks)…"), () => args.isVisible());
      await args.fill("--name 'open");
      await window.waitFor(options.frame.locator(".problem >> visible=true"), "the problem");
      await window.shot("options");
      await assertTranslated("body", "the options", await frameOf(args));
    });

    await test("the run options with a preset are translated", async () => {
      await open("run_ppo.sh");
      const changed = options.frame.locator(".command .added >> visible=true");
      await window.command(command("Short Test Run…"), () => changed.first().isVisible());
      await window.shot("preset");
      await assertTranslated("body", "the preset", await frameOf(changed.first()));
    });

    await test("the page of a report is translated", async () => {
      const report = page
        .frameLocator("iframe.webview.ready >> visible=true")
        .frameLocator("#active-frame");
      const kernels = report.locator("section#kernels tbody tr");
      await openFile(window, stage.workspace, "policy.nsys-rep", () => kernels.first().isVisible());
      await window.shot("report");
      await assertTranslated("body", "the report", await frameOf(kernels.first()));
      const again = report.locator("section.state button").first();
      await openFile(window, stage.workspace, "empty.nsys-rep", () => again.isVisible());
      await window.shot("no-report");
      await assertTranslated("body", "why a report is not shown", await frameOf(again));
    });

    await test("an editor in Chinese has views, errors and diagnoses in Chinese", async () => {
      const chinese = await chineseWindow({ stage, ...first });
      await chinese.showsViews();
      await chinese.showsWhyAnAddressIsWrong();
      await chinese.diagnosesLog();
    });
  },
  {
    driver: false,
    stage: setStageWithReports,
    server: { extensionDir, language: { tag: PSEUDO, translate: pseudo } },
  },
);
