/** The panel itself: from no cluster at all to the logs of every worker. */

import * as assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import * as path from "node:path";
import { endWithRun } from "../harness/cleanup.mjs";
import { markedWith } from "../harness/processes.mjs";
import { programEnv, python, ROOT, startProxy } from "../harness/ray.mjs";
import { until } from "../harness/until.mjs";

const PDB_SESSIONS_MS = 120_000;

export async function withPanel({ stage, window, driver, test }) {
  const { page } = window;
  const input = page.locator(".quick-input-widget:visible input").first();
  const editorText = (text) => page.locator(".editor-instance .view-line", { hasText: text });
  const box = (text) => page.locator(".quick-input-widget:visible", { hasText: text });
  const clusterRow = (text) => window.rowOf("Clusters", text).first();
  const terminal = page.locator(".part.panel .xterm-rows");

  const connects = page.locator(".welcome-view a", { hasText: "Connect to the cluster" });

  await test("the panel without a cluster has one button, and links to connect to one", async () => {
    await window.openPanel();
    await window.waitFor(page.getByText("No Ray cluster found"), "the welcome text");
    await window.waitFor(connects, "the link");
    const buttons = page.locator(".welcome-view a.monaco-button").locator("visible=true");
    assert.deepEqual(await buttons.allTextContents(), ["Open Sample Project"]);
    await window.shot("no-cluster");
  });

  await test("a site's proxy makes Eagleray ask for a certificate authority and a header", async () => {
    const proxy = await startProxy(stage.cluster.address, `${stage.base}/proxy`);
    endWithRun(() => proxy.stop());
    await window.click(connects, () => input.isVisible(), "the address is asked for");
    await input.fill(proxy.address);
    await page.keyboard.press("Enter");
    await window.waitFor(box("Certificate authority of"), "that its certificate is not trusted");
    await window.shot("certificate");
    await window.click(
      box("Select a file").locator(".monaco-list-row").first(),
      () => box("Trust for This Cluster").isVisible(),
      "the file is asked for",
    );
    // The dialog appends a path that is typed before it has listed its folder.
    await window.waitFor(box("policy.py"), "the files to choose from");
    await window.gesture(
      () => input.fill(proxy.ca_file),
      () => box("ca.pem").isVisible(),
      "the files of the folder that was typed",
    );
    await window.key("Enter", () => box("Headers for").isVisible(), "the header is asked for");
    await window.shot("header");
    await input.fill(proxy.header);
    await page.keyboard.press("Enter");
    const row = window.row(new URL(proxy.address).port);
    await window.waitFor(row.filter({ hasText: /\d+ workers/ }), "the cluster behind the proxy");
    await window.shot("behind-a-proxy");
    await window.fromMenu(
      row,
      "Remove Cluster",
      async () => (await row.count()) === 0,
      "it is gone",
    );
  });

  await test("an address adds a cluster, after it was checked", async () => {
    await window.click(connects, () => input.isVisible(), "the address is asked for");
    await input.fill("no address");
    await window.gesture(
      () => page.keyboard.press("Enter"),
      () => page.locator(".quick-input-message", { hasText: "Enter a port (8265)" }).isVisible(),
      "why it is not an address",
    );
    await window.shot("address-not-valid");
    await input.fill(new URL(stage.cluster.address).host);
    await page.keyboard.press("Enter");
    const port = new URL(stage.cluster.address).port;
    await window.waitFor(clusterRow(`local (${port})`), "the row of the cluster");
    await window.shot("added");
  });

  await test("an address where nothing answers is an error with a button to the log", async () => {
    await window.command("Eagleray: Connect to Cluster", () => input.isVisible());
    await input.fill("127.0.0.1:1");
    await page.keyboard.press("Enter");
    const message = await window.waitForMessage("Nothing answers at", "why it was not added");
    await window.shot("error");
    await window.click(
      message.locator(".monaco-button", { hasText: "Edit Address" }),
      async () => (await input.isVisible()) && (await input.inputValue()) === "127.0.0.1:1",
      "the address can be edited",
    );
    await window.shot("edit-address");
    await window.gesture(
      () => page.keyboard.press("Enter"),
      async () => (await message.count()) > 0 && !(await input.isVisible()),
      "it is not added again",
    );
    await window.click(
      message.locator(".monaco-button", { hasText: "Show Log" }),
      () => page.locator(".part.panel").isVisible(),
      "the log is shown",
    );
    await window.waitFor(
      page.locator(".part.panel").getByText("cluster-unreachable"),
      "the reason",
    );
    await window.shot("log-of-eagleray");
    await window.command(
      "View: Toggle Panel Visibility",
      async () => !(await page.locator(".part.panel").isVisible()),
    );
    await window.clearMessages();
  });

  await test("a cluster shows its nodes and workers, by node or by class", async () => {
    driver.call("p0", "train", 3);
    await window.waitFor(window.row("p0"), "the paused worker");
    const port = new URL(stage.cluster.address).port;
    await window.click(
      clusterRow(`local (${port})`).locator(".monaco-tl-twistie"),
      () => clusterRow(/p2.*running/).isVisible(),
      "the workers of its only node",
    );
    await window.waitFor(clusterRow(/p0.*paused/), "the paused worker among the others");
    await window.shot("workers-by-node");
    await window.command("Eagleray: Group by Class", () =>
      clusterRow(/Policy.*3 workers/).isVisible(),
    );
    await window.click(
      clusterRow(/Policy.*3 workers/),
      () => clusterRow(/p2.*running/).isVisible(),
      "the workers of the class",
    );
    await window.shot("workers-by-class");
  });

  await test("a cluster is renamed, and gets its own name with an empty one", async () => {
    const own = `local (${new URL(stage.cluster.address).port})`;
    const renames = async (from, name, to) => {
      await window.fromMenu(
        clusterRow(from),
        "Rename…",
        () => box("restore the original name").isVisible(),
        "the name is asked for",
      );
      await input.fill(name);
      await page.keyboard.press("Enter");
      await window.waitFor(clusterRow(to), "the new name");
    };
    await renames(own, "training", "training");
    await window.shot("renamed");
    await renames("training", "", own);
  });

  await test("a worker's menu opens its log", async () => {
    await window.fromMenu(
      window.row(/p2.*running/),
      ["Open Log", "Open Output (stdout)"],
      () =>
        page
          .locator(".tab", { hasText: /p2 .* stdout\.log/ })
          .first()
          .isVisible(),
      "the log is open",
    );
    await window.shot("log");
  });

  await test("a followed log shows new lines of the worker", async () => {
    const written = page.locator(".part.panel .view-line");
    await window.fromMenu(
      window.row(/p2.*running/),
      ["Open Log", "Follow Log"],
      () => page.locator(".part.panel").isVisible(),
      "the panel with the log is open",
    );
    for (const text of ["first-line-since", "second-line-since"]) {
      await driver.call("p2", "say", text).result();
      await window.waitFor(written.filter({ hasText: text }), `${text} in the log`);
    }
    await window.shot("followed");
    await window.command("Eagleray: Stop Following Log", () =>
      written.filter({ hasText: "not followed any more" }).first().isVisible(),
    );
    await window.command(
      "View: Toggle Panel Visibility",
      async () => !(await page.locator(".part.panel").isVisible()),
    );
  });

  await test("a search covers the logs of a group", async () => {
    await window.fromMenu(
      clusterRow(/Policy.*3 workers/),
      "Search Logs",
      // The palette of a command before may still be closing.
      () => page.locator(".quick-input-widget:visible", { hasText: "Text to find" }).isVisible(),
      "the pattern is asked for",
    );
    await input.fill("/actor|worker|pid/");
    await page.keyboard.press("Enter");
    await window.waitFor(editorText("in the logs of"), "what was found");
    await window.shot("search");
  });

  await test("a click on one of two waiting pdb sessions opens that one in a terminal", async () => {
    const program = path.join(ROOT, "tests", "programs", "cases", "legacy.py");
    const env = { ...programEnv(stage.cluster), RAY_DEBUG: "legacy" };
    const waiting = spawn(python(), [program, "second", "first"], { env });
    let printed = "";
    waiting.stdout.on("data", (data) => (printed += data));
    endWithRun(() => waiting.kill());
    const list = page.locator(".quick-input-widget:visible");
    const session = (name) => list.locator(".monaco-list-row", { hasText: name });
    // The list has the state at the moment in which it is opened.
    await until(
      () => pdbSessions(stage).length === 2,
      "both workers wait in pdb",
      PDB_SESSIONS_MS,
      500,
    );
    // The list comes from a job of Ray, which takes seconds on a busy machine.
    await window.command(
      "Eagleray: Open Ray pdb Session",
      async () => (await session(/legacy\.py:\d+/).count()) === 2,
      "both sessions are listed",
    );
    await window.shot("pdb-sessions");
    await window.gesture(
      () => session("adder.add").click(),
      () => terminal.getByText("(Pdb)").first().isVisible(),
      "its pdb is shown in a terminal",
    );
    await window.gesture(
      () => page.keyboard.type("p 'with', value\n"),
      () => terminal.getByText("('with', 41)").first().isVisible(),
      "pdb answers for this worker",
    );
    await window.shot("pdb");
    await page.keyboard.type("continue\n");
    await until(() => printed.includes("second: 42"), "its task continues");
    // The other session would explain the empty list of a later story.
    waiting.kill();
    await until(
      () => pdbSessions(stage).length === 0,
      "no worker waits in pdb",
      PDB_SESSIONS_MS,
      500,
    );
  });

  await test("a killed sidecar restarts and loses nothing", async () => {
    const sidecars = () => markedWith("EAGLERAY_HOME", stage.home, "sidecar");
    const [old] = sidecars();
    process.kill(old, "SIGKILL");
    await until(() => sidecars().some((pid) => pid !== old), "another one runs", 60_000);
    await window.waitFor(window.row(/p0/), "the paused worker still");
    await window.command("Eagleray: Refresh", () => window.row(/p0/).first().isVisible());
    await window.shot("after-the-crash");
  });

  await test("Continue in the menu of a row that has gone leaves the selected worker paused", async () => {
    driver.call("p1", "train", 4);
    const [selected, gone] = [/p0/, /p1/].map((text) => window.rowOf("Paused", text));
    // Once the line of the second is read, its row is below the group's.
    await window.waitFor(window.rowOf("Paused", /policy\.py:28 · 2/), "both paused workers");
    await window.waitFor(gone, "the other paused worker");
    const { pid } = pausedWorkers(stage).find((worker) => worker.name === "p1");
    await window.settled(selected);
    // A click without the key would attach.
    await selected.first().click({ modifiers: ["Control"] });
    await window.openMenu(gone);
    const entry = page
      .locator(".monaco-menu:visible .action-label", { hasText: /^Continue$/ })
      .first();
    await window.waitFor(entry, "its entry Continue");
    process.kill(pid, "SIGKILL");
    await window.waitForNone(gone, "the row below the open menu");
    await entry.hover();
    await entry.click();
    await window.waitForMessage("The list has changed. Nothing was done", "why nothing was done");
    await window.shot("row-gone");
    assert.deepEqual(
      pausedWorkers(stage).map(({ name, state }) => `${name} ${state}`),
      ["p0 paused"],
    );
  });
}

/** The workers that wait in Ray's own pdb, as the command line lists them. */
function pdbSessions(stage) {
  return listed(stage, "pdb");
}

function pausedWorkers(stage) {
  return listed(stage, "paused");
}

function listed({ cluster, env }, command) {
  const program = path.join(path.dirname(python()), "eagleray");
  const args = [command, "--json", "--cluster", cluster.address];
  return JSON.parse(execFileSync(program, args, { env: { ...process.env, ...env } }).toString());
}
