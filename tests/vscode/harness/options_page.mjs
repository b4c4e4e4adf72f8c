/** The page “Run options” in the editor: its fields by their labels, and axe-core in its frame. */

import { assertAccessible, frameOf } from "./accessibility.mjs";

export class OptionsPage {
  constructor(window) {
    this.window = window;
    this.frame = window.page
      .frameLocator("iframe.webview.ready >> visible=true")
      .frameLocator("#active-frame");
  }

  field(label) {
    return this.frame.getByLabel(label, { exact: true }).locator("visible=true").first();
  }

  button(name) {
    return this.frame.getByRole("button", { name, exact: true });
  }

  status(text) {
    return this.frame.locator("#status", { hasText: text });
  }

  isOpen() {
    return this.button("Start").isVisible();
  }

  problem(text) {
    return this.frame.locator(".problem", { hasText: text }).locator("visible=true");
  }

  /** Replaces the text of a field; the page takes it as typed. */
  async fill(label, text) {
    const field = this.field(label);
    await this.window.gesture(
      () => field.fill(text),
      async () => (await field.inputValue()) === text,
      `“${label}” has its text`,
    );
  }

  /** Whether the element with the focus is the field of that label. */
  async hasFocus(label) {
    return await this.field(label).evaluate((field) => field === document.activeElement);
  }

  /** Presses Tab until a field or button has the focus. */
  async tabTo(locator, what) {
    for (let step = 0; step < 60; step += 1) {
      if (await locator.evaluate((one) => one === document.activeElement)) return;
      await this.window.page.keyboard.press("Tab");
    }
    throw new Error(`Tab doesn't lead to ${what}`);
  }

  /** Fails if axe-core finds a violation in the page as it is. */
  async checkAccessibility() {
    await assertAccessible(await frameOf(this.frame.locator("body")));
  }
}
