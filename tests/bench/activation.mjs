/**
 * How long the extension takes to activate, as the editor's own list of running extensions says it:
 * the last line is a JSON array of milliseconds, one for each opening of the window.
 *
 *     node tests/bench/activation.mjs FOLDER_OF_THE_PACKED_EXTENSION
 */

import { mkdtempSync, rmSync } from "node:fs";

import { launch, openPage } from "../vscode/harness/browser.mjs";
import { endAll, endWithRun } from "../vscode/harness/cleanup.mjs";
import { marked, endMarked } from "../vscode/harness/processes.mjs";
import { start } from "../vscode/harness/server.mjs";
import { Window } from "../vscode/harness/window.mjs";

const OPENINGS = 5;

const home = mkdtempSync("/tmp/er-");
endWithRun(() => {
  endMarked("EAGLERAY_HOME", home);
  if (marked("EAGLERAY_HOME", home).length === 0) rmSync(home, { recursive: true, force: true });
});
try {
  const server = await start({
    extensionDir: process.argv[2],
    folder: home,
    env: { EAGLERAY_HOME: home, EAGLERAY_DISCOVERY: "off" },
  });
  endWithRun(() => server.stop());
  const browser = await launch();
  endWithRun(() => browser.close());
  const times = [];
  for (let opening = 0; opening < OPENINGS; opening++) {
    const page = await openPage(browser, server.url());
    times.push(await activation(new Window(page, home, "activation")));
    await page.context().close();
  }
  await endAll();
  console.log(JSON.stringify(times));
} catch (error) {
  await endAll();
  console.error(error);
  process.exit(1);
}
process.exit(0);

async function activation(window) {
  await window.ready();
  const row = window.page.locator(".runtime-extensions-editor .extension", { hasText: "Eagleray" });
  await window.command("Developer: Show Running Extensions", () => row.first().isVisible());
  const time = row.locator(".activation-time", { hasText: /\d+ms/ });
  await window.waitFor(time, "the time of activation");
  return Number(/(\d+)ms/.exec(await time.first().textContent())[1]);
}
