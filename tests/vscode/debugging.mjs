/**
 * A person in a real VS Code on a real training program: with a mouse, and then without one.
 *
 *     node tests/vscode/debugging.mjs [--vscode 1.139|1.105]
 */

import { browserRun } from "./harness/run.mjs";
import { withKeyboard } from "./debugging/keyboard.mjs";
import { withMouse } from "./debugging/mouse.mjs";

await browserRun("mouse", async (story) => {
  const { window } = story;
  await withMouse(story);
  // What the first has left open would do some of the second one's work.
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
});
