/** Opens files of the workspace by their paths, with the keyboard. */

import * as path from "node:path";

/** Opens `name` of `folder` and waits for `effect`. */
export async function openFile(window, folder, name, effect) {
  const { page } = window;
  await window.gesture(
    async () => {
      await window.closeQuickInput();
      await page.keyboard.press("Control+p");
      await window.quickInput().waitFor();
      // A whole path is found at once, where the search finds nothing without ripgrep.
      await window.quickInput().fill(path.join(folder, name));
      const row = page.locator(".quick-input-list .monaco-list-row.focused", { hasText: name });
      await row.first().waitFor();
      await page.keyboard.press("Enter");
    },
    effect,
    `${name} is open`,
  );
}

/** Pastes a path into the open list, which says what it is understood as, and takes it. */
export async function pastePath(window, file, effect) {
  const { page } = window;
  await window.quickInput().fill(file);
  const row = page.locator(".quick-input-list .monaco-list-row.focused", { hasText: "Use /" });
  await window.waitFor(row.filter({ hasText: path.basename(file) }), `the row for ${file}`);
  await window.gesture(() => page.keyboard.press("Enter"), effect, `${file} is taken`);
}
