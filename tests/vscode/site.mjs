/**
 * A cluster behind ssh, in a real VS Code as people use it: from a host of the ssh config to a worker's line,
 * with questions about the host key and the passphrase, and across a cut of the link.
 *
 *     node tests/vscode/site.mjs [--vscode 1.139|1.105]
 */

import * as fs from "node:fs";
import * as path from "node:path";
import { browserRun } from "./harness/run.mjs";
import { siteStage } from "./harness/site.mjs";

await browserRun(
  "site",
  async ({ stage, window, test }) => {
    const { page } = window;
    const { site } = stage;
    const list = page.locator(".quick-input-widget:visible");
    const input = list.locator("input").first();
    const adding = list.getByText("Connect to a Ray cluster");
    const choice = (text) => list.locator(".monaco-list-row", { hasText: text });
    const dialog = page.locator(".monaco-dialog-box");
    const lineOf = (name, mark) => {
      const source = fs.readFileSync(path.join(stage.workspace, name), "utf8").split("\n");
      return source.findIndex((text) => text.includes(mark)) + 1;
    };
    const line = lineOf("pausing.py", "# stands: pausing");
    const choose = (text, effect, what) =>
      window.gesture(() => choice(text).first().click(), effect, what);

    await test("the list offers the hosts of the ssh config, and shows why there is no job", async () => {
      await window.openPanel();
      await window.command("Eagleray: Connect to Cluster", () => adding.isVisible());
      await window.waitFor(choice("alice@10.66.0.1"), "the login node with its address");
      await window.shot("add-cluster");
      await input.fill("node-1");
      await window.waitFor(choice("Connect to node-1:8265"), "the host with the usual port");
      await window.waitFor(choice("Connect to ssh://node-1/8265"), "the host through SSH");
      await input.fill("node-1/path");
      await window.waitFor(choice("Edit “node-1/path”"), "the row that corrects the text");
      await window.waitFor(choice("Enter a port (8265)"), "why it is not an address");
    });

    await test("a search for jobs on a host asks about its host key and for the passphrase", async () => {
      await input.fill("");
      // A click while the list is drawn again would hit another row.
      await window.waitForNone(choice("Edit “node-1/path”"), "the hint");
      await choose(
        "Add SLURM login node",
        () => list.getByText("Add a SLURM login node").isVisible(),
        "the host is asked for",
      );
      await input.fill("login");
      await window.waitFor(choice("alice@10.66.0.1"), "the login node");
      await window.gesture(
        () => page.keyboard.press("Enter"),
        () => dialog.isVisible(),
        "ssh asks about the host's key",
      );
      await window.waitFor(
        dialog.getByText(/ED25519 key fingerprint is SHA256:/),
        "the fingerprint",
      );
      await window.shot("host-key");
      await window.click(
        dialog.locator(".monaco-button", { hasText: "Trust and Connect" }),
        async () => !(await dialog.isVisible()),
        "the dialog is answered",
      );
      await window.waitFor(list.getByText("Enter passphrase for key"), "the passphrase asked for");
      await window.shot("passphrase");
      await page.keyboard.type(site.passphrase);
      await page.keyboard.press("Enter");
      await window.waitFor(choice("train-policy"), "the job among the choices");
      await window.waitFor(choice("alice@10.66.0.3"), "the hosts again");
      await window.shot("jobs");
      await page.keyboard.press("Escape");
    });

    await test("a pending job shows progress and SLURM's reason", async () => {
      await window.waitForNone(list, "the list of the test before");
      await window.command("Eagleray: Connect to Cluster", () => adding.isVisible());
      await window.waitFor(choice("alice@10.66.0.3"), "the whole list");
      await choose(
        "evaluate",
        () =>
          window
            .notification(/Job \d+ is pending \(BeginTime\)/)
            .first()
            .isVisible(),
        "what is waited for, and why",
      );
      await window.shot("pending");
      const waiting = window.notification("is pending");
      await window.click(
        waiting.locator(".monaco-button", { hasText: "Cancel" }),
        async () => (await waiting.count()) === 0,
        "nothing is waited for any more",
      );
    });

    await test("the row of a running job connects to its paused workers", async () => {
      const job = window.row(/train-policy.*job \d+/);
      await window.waitFor(job, "the row of the job");
      await window.shot("job");
      await window.clickRowButton(
        job,
        "Connect to SLURM Job",
        () =>
          window
            .row(/through .*login/)
            .first()
            .isVisible(),
        "the cluster of the job",
      );
      await window.waitFor(window.row(/Pausing\.loop.*2/), "the paused workers");
      await window.shot("connected");
    });

    await test("Look Inside shows a rank that hangs on a node of the job, which keeps running", async () => {
      const hanging = window.rowOf("Clusters", "rank-1");
      const cluster = window.rowOf("Clusters", /through .*login/);
      const node = window.rowOf("Clusters", /^10\.77\.0\.20/);
      await window.click(cluster, () => node.first().isVisible(), "the nodes are listed");
      await window.click(node, () => hanging.first().isVisible(), "its workers are listed");
      await window.clickRowButton(
        hanging,
        "Look Inside",
        () => window.toolbar().isVisible(),
        "a session is open",
      );
      await window.waitForStopAt(lineOf("hanging.py", "# stands: hanging"));
      await window.waitFor(
        page.locator(".debug-variables .monaco-list-row", { hasText: /^batch/ }),
        "its variables",
      );
      const watches = page.locator(".pane", {
        has: page.locator('.pane-header[aria-label^="Watch"]'),
      });
      const typed = watches.locator("input");
      await window.gesture(
        async () => {
          await watches.locator(".pane-header").hover();
          await watches.locator('.action-label[aria-label^="Add Expression"]').click();
        },
        () => typed.isVisible(),
        "an expression can be typed",
      );
      await typed.fill("sum(batch['tokens'])");
      await page.keyboard.press("Enter");
      await window.waitFor(
        watches.locator(".monaco-list-row", { hasText: /sum\(batch\['tokens'\]\)\s*=?\s*16/ }),
        "the value of the watch",
      );
      await window.clickOnce(window.button("Step Over").first());
      await window.waitForMessage("is running, so it can't step", "the reason");
      await window.shot("inside");
      const isGone = async () => !(await window.toolbar().isVisible());
      await window.click(window.button("Disconnect"), isGone, "the session has ended");
      await site.request("release");
      await window.clearMessages();
      await window.openPanel();
      const isListed = () => node.first().isVisible();
      await window.click(cluster, async () => !(await isListed()), "the nodes are folded");
    });

    await test("a click on a worker on a node of the job shows its line", async () => {
      await window.attach(
        window.row(/on-10\.77\.0\.19/),
        () => window.toolbar().isVisible(),
        "a session is open",
      );
      await window.waitForStopAt(line);
      await window.shot("stopped-at-line");
    });

    await test("a cut link is shown and reconnects, and the worker stays at its line", async () => {
      await window.clearMessages();
      await window.openPanel();
      await site.request("cut laptop silent");
      const row = page.locator(".pane-body .monaco-list-row", { hasText: "through" });
      await window.waitFor(
        row.filter({ hasText: /not responding|connection lost|reconnect/i }),
        "that there is no answer",
      );
      await window.shot("cut");
      await site.request("cut laptop up");
      await window.waitFor(row.filter({ hasText: /\d+ workers/ }), "the cluster again");
      await window.waitFor(window.toolbar(), "the session still");
      await window.click(
        page.locator('.debug-toolbar .action-label[aria-label^="Step Over"]'),
        () => window.isStoppedAt(line + 1),
        "it steps",
      );
      await window.shot("after-the-cut");
    });

    await test("a worker's menu opens a terminal on its node", async () => {
      await window.fromMenu(
        window.row(/on-10\.77\.0\.20/),
        "Open Terminal on Node",
        () => page.locator(".terminal-tabs-entry, .single-terminal-tab").first().isVisible(),
        "a terminal is open",
      );
      await window.shot("terminal");
    });

    await test("a security key shows a notice until it is touched", async () => {
      await window.command("Eagleray: Connect to Cluster", () => adding.isVisible());
      await input.fill("ssh://login2/node-1:8265");
      await window.gesture(
        () => page.keyboard.press("Enter"),
        () => dialog.isVisible(),
        "ssh asks about the host's key",
      );
      await window.click(
        dialog.locator(".monaco-button", { hasText: "Trust and Connect" }),
        async () => !(await dialog.isVisible()),
        "the dialog is answered",
      );
      const notice = window.notification("Confirm user presence for key ED25519-SK");
      await window.waitFor(notice, "that the key is to be touched");
      await window.shot("touch");
      await site.request("touch");
      await window.waitForNone(notice, "the notice");
      // Without a Ray: the host was reached, by the key.
      await window.waitForMessage("node-1:8265", "an error that nothing answers");
      await window.clearMessages();
    });

    await test("a job close to its time limit shows a warning while a worker is stopped", async () => {
      await site.request("limit 9");
      const warning = window.notification(/ends in \d+ m, and .* paused/);
      await window.command(
        "Eagleray: Refresh",
        () => warning.first().isVisible(),
        "the warning is shown",
      );
      await window.shot("time");
    });
  },
  { stage: siteStage, driver: false, linked: true, server: { driver: false } },
);
