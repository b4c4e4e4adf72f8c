/**
 * Debugging a real training program in a real VS Code: with the mouse, then with the keyboard alone.
 *
 *     node tests/vscode/debugging.mjs [--vscode 1.139|1.105]
 */

import { browserRun } from "./harness/run.mjs";
import { withKeyboard } from "./debugging/keyboard.mjs";
import { withMouse } from "./debugging/mouse.mjs";

await browserRun("mouse", async (story) => {
  const { window } = story;
  await withMouse(story);
  // Editors and breakpoints of the first part would do some of the second part's work.
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
