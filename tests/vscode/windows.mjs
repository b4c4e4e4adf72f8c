/**
 * Windows that are not the usual one: untrusted with a trap in it, without a folder, two at once, killed.
 *
 *     node tests/vscode/windows.mjs [--vscode 1.139|1.105]
 */

import * as fs from "node:fs";
import * as path from "node:path";
import { openPage } from "./harness/browser.mjs";
import { lineOf } from "./harness/ray.mjs";
import { browserRun } from "./harness/run.mjs";
import { writeSettings } from "./harness/server.mjs";
import { until } from "./harness/until.mjs";
import { Window } from "./harness/window.mjs";

await browserRun("windows", async ({ stage, server, browser, window, driver, test }) => {
  const after = lineOf(path.join(stage.workspace, "policy.py"), "after");
  const call = driver.call("p0", "train", 0);
  const open = async (folder) => {
    const page = await openPage(browser, server.url(folder));
    const other = new Window(page, window.shotsFolder, window.prefix);
    other.shots = window.shots + 10;
    await other.ready();
    return other;
  };
  const attach = (where) =>
    where.attach(where.row("p0"), () => where.toolbar().isVisible(), "a session has begun");

  await test("a closed window holds the worker", async () => {
    await window.openPanel();
    await attach(window);
    await window.standsAt(after);
    await window.page.context().close();
    await until(() => call.now() === undefined, "it still waits", 1000);
  });

  await test("a window without a folder lists it as held and stands at its line", async () => {
    const bare = await open("");
    await bare.openPanel();
    await bare.sees(bare.row(/p0.*held/), "the worker as held");
    await attach(bare);
    await bare.standsAt(after);
    await bare.shot("no-folder");
    // A second window takes it over; the first one's session ends and the worker does not notice.
    const second = await open(stage.workspace);
    await second.openPanel();
    await second.sees(second.row(/p0.*attached/), "the worker as attached elsewhere");
    await attach(second);
    await second.standsAt(after);
    await bare.seesNot(bare.toolbar(), "the session of the first window");
    await until(() => call.now() === undefined, "it still waits", 1000);
    await bare.page.context().close();
    await second.page.context().close();
  });

  await test("in an untrusted workspace nothing of it is executed", async () => {
    const trap = layTrap(stage);
    const { python: _, ...settings } = stage.settings;
    delete settings["eagleray.python"];
    writeSettings(server.folders, {
      ...settings,
      "security.workspace.trust.enabled": true,
      "security.workspace.trust.startupPrompt": "never",
    });
    const page = await openPage(browser, server.url(trap.folder));
    const untrusted = new Window(page, window.shotsFolder, window.prefix);
    untrusted.shots = 30;
    await untrusted.ready();
    await untrusted.sees(page.getByText("Restricted Mode"), "that the workspace is not trusted");
    await untrusted.openPanel();
    await untrusted.sees(
      untrusted.row(/p0.*held/),
      "the worker as held, though the workspace is not trusted",
    );
    await untrusted.shot("untrusted");
    await until(() => !fs.existsSync(trap.sprung), "the trap was not sprung", 1000);
    await page.context().close();
  });
});

/** A workspace whose Pythons say so when they are run. */
function layTrap(stage) {
  const folder = path.join(stage.base, "untrusted");
  const sprung = path.join(stage.base, "sprung");
  const script = `#!/bin/sh\necho "$0 $@" >> "${sprung}"\nexec python3 "$@"\n`;
  for (const file of [".venv/bin/python", ".venv/bin/python3", "venv/bin/python", "evil"]) {
    fs.mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    fs.writeFileSync(path.join(folder, file), script, { mode: 0o755 });
  }
  fs.mkdirSync(path.join(folder, ".vscode"));
  const settings = { "eagleray.python": path.join(folder, "evil") };
  fs.writeFileSync(path.join(folder, ".vscode", "settings.json"), JSON.stringify(settings));
  fs.writeFileSync(path.join(folder, "sitecustomize.py"), `open(${JSON.stringify(sprung)}, "w")\n`);
  return { folder, sprung };
}
