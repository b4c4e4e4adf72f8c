/**
 * Debugging a real training program in a real VS Code on a real cluster.  In the newest version: the panel, then the mouse,
 * then the keyboard alone, then every key.  In another one the mouse: the interface of the editor differs by version, and
 * the keys call the same commands.
 *
 *     node tests/vscode/debugging.mjs [--vscode 1.139|1.105]
 */

import * as path from "node:path";
import { withKeyboard } from "./debugging/keyboard.mjs";
import { LONG_NAME, withKeys } from "./debugging/keys.mjs";
import { withMouse } from "./debugging/mouse.mjs";
import { withPanel } from "./debugging/panel.mjs";
import { python } from "./harness/ray.mjs";
import { options } from "./harness/results.mjs";
import { browserRun } from "./harness/run.mjs";
import { NEWEST } from "./harness/versions.mjs";

const isNewest = options().version === NEWEST;

await browserRun(
  isNewest ? "panel" : "mouse",
  async (story) => {
    if (!isNewest) return await withMouse(story);
    await withPanel(story);
    const debugging = await story.next("mouse");
    await withMouse(debugging);
    await withKeyboardAlone(debugging);
    await withKeys(await story.next("keys", { p0: 0, p1: 1, p2: 2, [LONG_NAME]: 3 }));
  },
  {
    env: {
      // The first story adds the cluster itself.
      ...(isNewest ? { RAY_API_SERVER_ADDRESS: "" } : {}),
      // As of an editor that was started in a terminal with an active environment; programs are run with it.
      VIRTUAL_ENV: path.dirname(path.dirname(python())),
    },
    // Drawn by the graphics card, the text of a terminal would not be in the page.
    settings: { "terminal.integrated.gpuAcceleration": "off" },
  },
);

async function withKeyboardAlone(story) {
  const { window } = story;
  // Editors and breakpoints of the story before would do some of this one's work.
  await window.command(
    "Remove All Breakpoints",
    async () => (await window.breakpoints().count()) === 0,
  );
  await window.command(
    "View: Close All Editors",
    async () => (await window.page.locator(".tab").count()) === 0,
  );
  await window.command("View: Show Explorer", () =>
    window.page.locator(".explorer-folders-view").first().isVisible(),
  );
  window.startStory("keyboard");
  await withKeyboard(story);
}
