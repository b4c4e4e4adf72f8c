/** Locators of elements in the window, for the stories about profiling. */

import { openFile } from "../harness/files.mjs";

export function locatorsOf(window, stage) {
  const { page } = window;
  const list = page.locator(".quick-input-widget:visible");
  const report = page
    .frameLocator("iframe.webview.ready >> visible=true")
    .frameLocator("#active-frame");
  const button = (name) => report.locator("button", { hasText: name });
  const pane = (title) =>
    page.locator(".pane", { has: page.locator(`.pane-header[aria-label^="${title}"]`) });
  return {
    list,
    input: list.locator("input").first(),
    choice: (text) => list.locator(".monaco-list-row", { hasText: text }).first(),
    report,
    section: (id) => report.locator(`section#${id}`),
    state: report.locator("section.state"),
    button,
    press: (name, effect, what) => window.click(button(name), effect, what),
    pane,
    row: (title, text) => pane(title).locator(".monaco-list-row", { hasText: text }),
    clipboard: () => page.evaluate(() => navigator.clipboard.readText()),
    openFile: (name, effect) => openFile(window, stage.workspace, name, effect),
  };
}
