/** Debugging with the keyboard alone; the focus is followed as by a screen reader. */

import * as path from "node:path";
import { lineOf } from "../harness/ray.mjs";
import { until } from "../harness/until.mjs";

export async function withKeyboard({ stage, window, driver, test }) {
  const { page } = window;
  const policy = path.join(stage.workspace, "policy.py");
  const line = (mark) => lineOf(policy, mark);
  const list = page.locator(".pane-body .monaco-list:focus");
  const focused = list.locator(".monaco-list-row.focused");
  const calls = ["p0", "p1", "p2"].map((name) => driver.call(name, "train", 3));

  await test("the palette opens the panel with the focus in the list", async () => {
    await window.command("Eagleray: Focus on Paused Workers", () =>
      window
        .row(/Policy\.train/)
        .first()
        .isVisible(),
    );
    // The focus would be lost with a row that moves to another group.
    await window.waitFor(window.row(/Policy\.train.*3/), "the group of all workers");
    await window.command("Eagleray: Focus on Paused Workers", () => list.first().isVisible());
    await window.shot("panel");
  });

  await test("Down and Enter attach to a worker", async () => {
    await walkTo(/p0/);
    await window.key("Enter", () => window.toolbar().isVisible(), "a session is open");
    await window.waitForStopAt(line("after"));
    const variables = page.locator(".debug-variables .monaco-list-row");
    await window.waitFor(variables.filter({ hasText: "rewards" }), "the variable rewards");
    await window.shot("stopped-at-line");
  });

  await test("F9 sets a breakpoint, F10 steps, F5 continues to it", async () => {
    await focusEditor();
    await window.key("F10", () => window.isStoppedAt(line("loop") - 1), "it stepped");
    await goTo(line("return"));
    const dot = page.locator(".codicon-debug-breakpoint");
    await window.key("F9", () => dot.first().isVisible(), "the line has a breakpoint");
    await window.key("F5", () => window.isStoppedAt(line("return")), "it stopped there");
    await window.shot("breakpoint");
  });

  await test("the key for the next paused worker attaches to it", async () => {
    const second = page.locator(".debug-call-stack .monaco-list-row", { hasText: "p1 (rank 1)" });
    await window.command("Focus on Call Stack View", () =>
      page.locator(".debug-call-stack").isVisible(),
    );
    await window.key(
      "Control+F8",
      () => second.first().isVisible(),
      "the second worker is attached",
    );
    await window.waitForStopAt(line("after"));
    await window.shot("next");
  });

  await test("the debug console gets the focus and evaluates an expression", async () => {
    const input = page.locator(".repl-input-wrapper .monaco-editor.focused");
    const answer = page.locator(".repl .monaco-list-row", { hasText: "1128" });
    await window.command("Debug Console: Focus on Debug Console View", () =>
      input.first().isVisible(),
    );
    await window.gesture(
      async () => {
        await page.keyboard.type("state['step'] * 376");
        await page.keyboard.press("Escape");
        await page.keyboard.press("Enter");
      },
      () => answer.first().isVisible(),
      "the console answers",
    );
  });

  await test("Shift+F5 disconnects and resumes the worker", async () => {
    await focusEditor();
    await window.key(
      "Shift+F5",
      () => calls[1].returned() !== undefined,
      "the second worker has finished",
    );
  });

  await test("the row's context menu has Continue All Others", async () => {
    await window.command("Eagleray: Focus on Paused Workers", () => list.first().isVisible());
    await walkTo(/p0/);
    await window.shot("context-menu-row");
    await choose(/p0/, "Continue All Others", () => calls[2].returned() !== undefined);
    await until(() => calls[0].returned() === undefined, "the first worker is still stopped", 1000);
    // The menu of a view that is being redrawn doesn't know its row.
    await until(async () => !(await window.row(/p2/).first().isVisible()), "its row is gone");
    await choose(/p0/, "Detach and Resume", () => calls[0].returned() !== undefined);
    await window.shot("all-gone");
  });

  /** Chooses an entry of a row's context menu; Escape in a list would take the focus off its row. */
  async function choose(text, entry, effect) {
    const menu = page.locator(".monaco-menu");
    await window.gesture(
      async () => {
        if (await menu.first().isVisible()) await page.keyboard.press("Escape");
        // The menu of a view that is being redrawn doesn't know its row.
        await window.settled(window.row(text));
        if (!(await isOn(text))) await walkTo(text);
        await page.keyboard.press("Shift+F10");
        await menu.first().waitFor();
        await chooseInMenu(entry);
      },
      effect,
      `“${entry}” has its effect`,
    );
  }

  async function isOn(text) {
    if ((await focused.count()) === 0) return false;
    return text.test((await focused.first().getAttribute("aria-label", { timeout: 1000 })) ?? "");
  }

  /** Goes down the list, row by row, until the focused row has the text. */
  async function walkTo(text) {
    await page.keyboard.press("Home");
    for (let row = 0; row < 30; row += 1) {
      await until(async () => (await focused.count()) > 0, "a row has the focus");
      if (await isOn(text)) return;
      const id = await focused.first().getAttribute("id");
      await window.key(
        "ArrowDown",
        async () => (await focused.first().getAttribute("id")) !== id,
        "the next row has the focus",
      );
    }
    throw new Error(`no row has ${text}`);
  }

  async function focusEditor() {
    const editor = page.locator(".editor-instance .monaco-editor.focused");
    await window.command("View: Focus Active Editor Group", () => editor.first().isVisible());
  }

  async function goTo(number) {
    const current = page.locator(".statusbar-item", { hasText: new RegExp(`Ln ${number},`) });
    await window.gesture(
      async () => {
        await window.closeQuickInput();
        await page.keyboard.press("Control+g");
        await window.quickInput().waitFor();
        await window.quickInput().fill(`:${number}`);
        await page.keyboard.press("Enter");
      },
      () => current.first().isVisible(),
      `the cursor is in line ${number}`,
    );
  }

  async function chooseInMenu(entry) {
    for (let step = 0; step < 20; step += 1) {
      await page.keyboard.press("ArrowDown");
      const item = page.locator(".monaco-menu .action-item.focused", { hasText: entry });
      if (await item.first().isVisible()) {
        await page.keyboard.press("Enter");
        return;
      }
    }
    throw new Error(`the menu has no ${entry}`);
  }
}
