/**
 * “Why Is It Stuck?” on a real cluster whose actors wait for each other: from its row to the sentence, the stacks, a line
 * of the source, a saved picture, stacks of the clipboard, and Markdown.  Then ranks that wait for others at a breakpoint.
 *
 *     node tests/vscode/stuck.mjs [--vscode 1.139|1.105]
 */

import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { assertAccessible, frameOf } from "./harness/accessibility.mjs";
import { interpreter } from "../../scripts/environments.mjs";
import { pastePath } from "./harness/files.mjs";
import { ROOT, startProgram } from "./harness/ray.mjs";
import { browserRun } from "./harness/run.mjs";
import { freePort } from "./harness/server.mjs";
import { setStage } from "./harness/stage.mjs";
import { until } from "./harness/until.mjs";

const SENTENCE =
  /Policy\.ask of left, which waits for Reward\.answer, which waits for Policy\.value of left/;
const AWAITED =
  /The driver waits for Rollout\.generate\. All 5 tasks wait in Rollout\.tokens \(ray_tasks\.py:\d+\)/;
const GIVEN =
  /Ranks 0-1 and 3 wait in all_reduce \(trainer\.py:64\), and rank 2 is elsewhere in Trainer\.load_checkpoint/;
const PAUSED =
  /Rank 0 waits in all_reduce \(ray_trainers\.py:\d+\) for ranks 1-2, which are paused by a debugger in Trainer\.hang \(ray_trainers\.py:\d+\)\./;
/** Its Ray and its torch are the cluster's, too. */
const PYTHON = interpreter("proofs");
const PROGRAM = path.join(ROOT, "tests", "programs", "hangs");

await browserRun(
  "stuck",
  async ({ stage, window, test }) => {
    const { page } = window;
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const shown = page
      .frameLocator("iframe.webview.ready >> visible=true")
      .frameLocator("#active-frame");
    const sentence = shown.locator("h1", { hasText: SENTENCE });
    const frame = (name) => shown.locator('[role="treeitem"].frame', { hasText: name });
    const button = (name) => shown.locator("button.button", { hasText: name });
    const announced = (text) => shown.locator("#announcement", { hasText: text });
    const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
    const tab = (name) => page.locator(".tab.active", { hasText: name });
    const file = path.join(stage.workspace, "ray_tasks.py");
    const saved = path.join(stage.base, "saved", "picture.json");
    fs.mkdirSync(path.join(stage.base, "saved", "picture.json listed"), { recursive: true });
    const lineOf = (text) =>
      fs
        .readFileSync(file, "utf8")
        .split("\n")
        .findIndex((line) => line.includes(text)) + 1;

    /** Types the path of a file into the editor's dialog, which lists the folder of the path before it takes Enter. */
    const choose = async (open, effect, what, chosen = saved) => {
      await window.gesture(open, () => window.quickInput().isVisible(), `the dialog for ${what}`);
      const rows = page.locator(".quick-input-list .monaco-list-row");
      // The dialog fills in the folder of the workspace, then lists it.
      await until(
        async () => (await window.quickInput().inputValue()).includes(stage.workspace),
        "the dialog has its first folder",
      );
      await window.waitFor(rows, "the rows of the folder");
      await window.quickInput().fill(chosen);
      const listed = rows.filter({ hasText: "listed" });
      await window.waitFor(listed, "the folder");
      await window.gesture(() => page.keyboard.press("Enter"), effect, what);
    };

    const bell = page.locator('[id="status.notifications"] .codicon-bell-dot');
    const program = startProgram(stage.cluster, PYTHON, file, "cycle");

    await test("a program whose actors wait for each other runs", async () => {
      await program.prints("ready");
      await window.waitFor(window.icon(), "the extension");
      await window.openPanel();
      await window.waitFor(window.rowOf("Clusters", /workers/), "the cluster with its workers");
    });

    await test("the row of the cluster leads to the sentence that says why", async () => {
      await window.fromMenu(
        window.rowOf("Clusters", /workers/),
        "Why Is It Stuck?",
        () => bell.first().isVisible(),
        "the progress is announced",
      );
      await window.waitForMessage(/Sample \d of 3 taken/, "the progress");
      await window.shot("sampling");
      await window.waitFor(sentence, "the sentence");
      await window.waitFor(shown.getByText("Cycle of ray.get · very likely"), "how sure it is");
      await window.waitFor(frame("Policy.ask"), "the stacks");
      assert.equal(await shown.locator("button.inspect").count(), 3, "one button for each class");
      await window.shot("picture");
      if (process.env.EAGLERAY_PICTURES) {
        await page.screenshot({ path: path.join(ROOT, "docs", "pictures", "stuck.png") });
      }
      await assertAccessible(await frameOf(shown.locator("body")));
    });

    await test("a filter leaves the driver, and the next one all processes", async () => {
      const role = shown.locator("#filter-role");
      await role.selectOption({ label: "driver" });
      await window.waitForNone(frame("Policy.ask"), "the stack of another role");
      await role.selectOption({ label: "All" });
      await window.waitFor(frame("Policy.ask"), "the stack of the actor");
    });

    await test("a click on a frame opens its line in the user's file", async () => {
      const line = lineOf("self.other.answer.remote()");
      const cursor = page.locator(".statusbar-item", { hasText: `Ln ${line}, Col` });
      await window.click(
        frame("Policy.ask"),
        () => cursor.first().isVisible(),
        `the file is open at line ${line}`,
      );
      await window.waitFor(tab("ray_tasks.py"), "the file");
      await window.shot("source");
    });

    await test("the picture is saved, compared, and copied as Markdown", async () => {
      await choose(
        () => button("Save…").click(),
        () => fs.existsSync(saved),
        "the saved picture",
      );
      await window.waitFor(announced("Saved as picture.json"), "that it was saved");
      assert.equal(JSON.parse(fs.readFileSync(saved, "utf8")).verdict.kind, "ray-get-cycle");
      await window.click(
        button("Compare With…"),
        () => window.quickInput().isVisible(),
        "the list of pictures",
      );
      await pastePath(window, saved, () =>
        shown.getByText("No rank has moved between the two pictures.").isVisible(),
      );
      await window.click(
        button("Copy as Markdown"),
        async () => (await clipboard()).includes("\n\n**The driver waits for Policy.ask of left"),
        "Markdown is in the clipboard",
      );
      assert.match(await clipboard(), /^Stacks of .*, taken at [^]*```text\n/);
      await window.shot("compared");
      const exported = path.join(path.dirname(saved), "stuck.html");
      await choose(
        () => button("Export as HTML…").click(),
        () => fs.existsSync(exported),
        "the exported page",
        exported,
      );
      await window.waitFor(announced("Saved as stuck.html"), "that it was exported");
      assert.match(fs.readFileSync(exported, "utf8"), /"kind":"ray-get-cycle"/);
    });

    await test("a new sample can be cancelled, and the picture stays", async () => {
      await window.click(
        button("Sample Again"),
        () => bell.first().isVisible(),
        "a new picture is taken",
      );
      const isOver = async () => (await button("Sampling…").count()) === 0;
      await window.answerMessage(/Sampling the stacks of/, "Cancel", isOver, "the progress");
      await until(
        async () => (await button("Sample Again").getAttribute("disabled")) === null,
        "another can be taken",
      );
      await window.waitFor(sentence, "the earlier picture");
    });

    await test("“Look Inside” opens the smallest rank of a class as a session", async () => {
      await window.click(
        shown.locator("button.inspect").first(),
        () => window.toolbar().isVisible(),
        "the session is open",
      );
      const frames = page.locator(".debug-call-stack .monaco-list-row", { hasText: "Policy.ask" });
      await window.waitFor(frames, "the stack of the actor");
      await window.shot("inside");
      await window.command("Debug: Disconnect", async () => !(await window.toolbar().isVisible()));
    });

    await test("stacks in the clipboard open as a page with the same sentence as ranks that are sampled", async () => {
      const dumps = [0, 1, 2, 3].map((rank) => {
        const dump = path.join(
          ROOT,
          "tests",
          "observe",
          "hangs",
          "given",
          `straggler.rank${rank}.txt`,
        );
        return fs.readFileSync(dump, "utf8").replace(/^/gm, `[rank${rank}]: `);
      });
      await page.evaluate((text) => navigator.clipboard.writeText(text), dumps.join("\n"));
      await window.command(
        "View: Close All Editors",
        async () => (await page.locator(".tab").count()) === 0,
      );
      const copied = page.locator(".quick-input-list .monaco-list-row", { hasText: /^Clipboard/ });
      await window.command("Eagleray: Open Stacks", () => copied.isVisible());
      await window.gesture(
        () => copied.click(),
        () => tab("Clipboard").isVisible(),
        "the stacks of the clipboard are open",
      );
      await window.waitFor(shown.locator("h1", { hasText: GIVEN }), "the sentence");
      await window.waitFor(shown.getByText("Stacks of 4 processes were given"), "their number");
      await window.shot("given");
    });

    await test("a saved picture opens as a page that has no cluster", async () => {
      await window.command(
        "View: Close All Editors",
        async () => (await page.locator(".tab").count()) === 0,
      );
      const asks = page.locator(".quick-input-widget:visible", { hasText: "Open a Saved Picture" });
      await window.command("Eagleray: Open Saved Picture", () => asks.isVisible());
      await window.shot("pasted");
      await pastePath(window, saved, () => tab("picture.json").isVisible());
      await window.waitFor(sentence, "the sentence");
      assert.equal(await button("Sample Again").count(), 0);
      assert.equal(
        await shown.locator("button.inspect").count(),
        0,
        "its processes may have ended",
      );
      await window.shot("opened");
    });

    await test("a reload of the window keeps the tab with its picture", async () => {
      await page.evaluate(() => (window.isOldPage = true));
      // Unlike a reload of the page, the command first stores which tabs are open.
      await window.command("Developer: Reload Window", () =>
        page.evaluate(() => window.isOldPage !== true).catch(() => false),
      );
      await window.waitFor(tab("picture.json"), "the tab");
      await window.waitFor(sentence, "the sentence");
      await window.waitFor(frame("Policy.ask"), "the stacks");
      await window.shot("reloaded");
    });

    let awaiting;
    await test("what an async actor awaits is read from inside of it on request", async () => {
      program.end();
      awaiting = startProgram(stage.cluster, PYTHON, file, "awaiting");
      await awaiting.prints("ready");
      await window.openPanel();
      const read = button("Read Awaited Tasks");
      // The workers of the program before have ended, too.
      const cluster = window.rowOf("Clusters", /\b1 worker\b/);
      await window.waitFor(cluster, "only the worker of this program");
      await window.fromMenu(
        cluster,
        "Why Is It Stuck?",
        () => bell.first().isVisible(),
        "the progress is announced",
      );
      await window.waitFor(read, "the button of a picture whose chain ends at an actor");
      await window.click(read, () => bell.first().isVisible(), "a new picture is taken");
      await window.waitFor(shown.locator("h1", { hasText: AWAITED }), "the sentence");
      await window.waitFor(shown.getByText("Rollout 0: 5 tasks wait:"), "what they await");
      await window.waitFor(
        shown.getByText("Event loop waits · no proof of a hang"),
        "how sure it is",
      );
      await window.shot("awaited");
      await assertAccessible(await frameOf(shown.locator("body")));
    });

    const ofPaused = shown.locator("h1", { hasText: PAUSED });
    await test("the view of paused workers says which rank waits for those at a breakpoint", async () => {
      awaiting.end();
      const trainers = path.join(stage.workspace, "ray_trainers.py");
      const args = ["all_paused_but_first", "3", String(await freePort())];
      await startProgram(stage.cluster, PYTHON, trainers, ...args).prints("ready");
      await window.openPanel();
      const row = window.rowOf("Paused", "Rank 0 waits for ranks 1-2");
      await window.waitFor(row, "the row that says who waits");
      await window.waitFor(window.worker("trainer-2", "paused"), "the last paused rank");
      assert.match(await row.getAttribute("aria-label"), PAUSED);
      await window.shot("paused");
      await window.click(row, () => ofPaused.isVisible(), "its picture is open");
      await window.waitFor(frame("Trainer.reduce"), "the stacks");
      await window.shot("paused-picture");
    });

    await test("the list behind the status bar leads to a picture, too", async () => {
      await window.command(
        "View: Close All Editors",
        async () => (await page.locator(".tab").count()) === 0,
      );
      const status = page.locator('.statusbar-item[id*="eagleray.status"] a');
      const entry = page.locator(".quick-input-list .monaco-list-row", {
        hasText: "Why Is It Stuck?",
      });
      await window.click(status, () => entry.isVisible(), "its list is open");
      await window.shot("status-bar");
      await window.gesture(
        async () => {
          await window.quickInput().fill("Why Is It Stuck?");
          await page.keyboard.press("Enter");
        },
        async () => !(await window.quickInput().isVisible()),
        "the entry is selected",
      );
      await window.waitFor(ofPaused, "the sentence");
      await window.waitFor(tab(/^Stuck\? local/), "the picture of the only cluster");
      await window.shot("of-cluster");
    });
  },
  { driver: false, stage: () => setStage({ program: PROGRAM, ray: PYTHON }) },
);
