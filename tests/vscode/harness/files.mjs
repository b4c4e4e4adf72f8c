/** Opens files of the workspace as a person does, by their names. */

import * as path from "node:path";

/** Opens `name` of `folder`; `effect` says that it is shown. */
export async function openFile(window, folder, name, effect, effectMs) {
  const { page } = window;
  const input = page.locator(".quick-input-widget:visible input").first();
  await window.gesture(
    async () => {
      await page.keyboard.press("Escape");
      await page.keyboard.press("Control+p");
      await input.waitFor({ timeout: 4000 });
      // By its whole path it is found at once, where the search finds nothing without a program of its own.
      await input.fill(path.join(folder, name));
      const found = page.locator(".quick-input-list .monaco-list-row.focused", { hasText: name });
      await found.first().waitFor({ timeout: 4000 });
      await page.keyboard.press("Enter");
    },
    effect,
    `${name} is open`,
    effectMs,
  );
}
