/** The editor's window as a person's hands and eyes meet it; every gesture is repeated until its effect is seen. */

import * as path from "node:path";
import { until } from "./until.mjs";

/** How long an effect may take after a gesture before the gesture is made again. */
const EFFECT_MS = 4000;
const LIMIT_MS = 100_000;

export class Window {
  shots = 0;

  constructor(page, shotsFolder, prefix) {
    this.page = page;
    this.shotsFolder = shotsFolder;
    this.prefix = prefix;
  }

  /** Another story goes on in this window, with pictures of its own. */
  begin(prefix) {
    this.prefix = prefix;
    this.shots = 0;
  }

  /** Waits until the workbench is drawn. */
  async ready() {
    await this.sees(this.page.locator(".monaco-workbench .activitybar"), "the workbench");
  }

  /** As a person leaves it: one that is only torn away may leave its extension host behind. */
  async close() {
    await this.page.goto("about:blank");
    await this.page.context().close();
  }

  /** Keeps a picture. */
  async shot(name) {
    this.shots += 1;
    const number = String(this.shots).padStart(2, "0");
    const file = path.join(this.shotsFolder, `${this.prefix}-${number}-${name}.png`);
    await this.page.screenshot({ path: file });
  }

  /** What stands in lists and messages now, for the report of a failure. */
  async seen() {
    const parts = this.page.locator(".monaco-list-row, .notification-toast, .welcome-view-content");
    const texts = await parts.allTextContents().catch(() => []);
    return `In the window: ${JSON.stringify(texts.slice(0, 40))}`;
  }

  /** Waits for an element to be visible. */
  async sees(locator, what, limit = LIMIT_MS) {
    await until(() => locator.first().isVisible(), `one sees ${what}`, limit);
    return locator.first();
  }

  async seesNot(locator, what) {
    await until(
      async () => (await locator.count()) === 0,
      `one does not see ${what} any more`,
      LIMIT_MS,
    );
  }

  /** Makes `gesture` again and again until `effect()` is true; what fails on the way is tried again. */
  async gesture(gesture, effect, what, effectMs = EFFECT_MS) {
    let last;
    await until(
      async () => {
        if (await effect()) return true;
        // A gesture that could not be made has no effect to wait for.
        const made = await gesture().then(
          () => true,
          (error) => {
            last = error;
            return false;
          },
        );
        return await until(effect, "", made ? effectMs : 300).catch(() => false);
      },
      what,
      LIMIT_MS,
      50,
    ).catch((error) => {
      throw new Error(
        `${error.message}${last ? `; last gesture: ${last.message.split("\n")[0]}` : ""}`,
      );
    });
  }

  async click(locator, effect, what, { effectMs, ...options } = {}) {
    await this.gesture(
      async () => {
        // A hover left over from the last gesture would catch the click.
        await this.rest();
        await locator.first().click({ timeout: EFFECT_MS, force: true, ...options });
        await this.rest();
      },
      effect,
      what,
      effectMs,
    );
  }

  /** Chooses an entry of a row's context menu. */
  async fromMenu(row, title, effect, what, effectMs) {
    const menu = this.page.locator(".monaco-menu:visible");
    const entry = menu.locator(".action-label", { hasText: title }).first();
    await this.gesture(
      async () => {
        // A menu that is still open lies over the rows.
        if ((await menu.count()) > 0) await this.page.keyboard.press("Escape");
        await this.rest();
        await row.first().click({ button: "right", timeout: EFFECT_MS });
        await entry.hover({ timeout: EFFECT_MS });
        // In its first tenth of a second VS Code's menu takes a click for the end of the one that opened it.
        await this.page.waitForTimeout(150);
        await entry.click({ timeout: EFFECT_MS });
      },
      async () => Boolean(await effect()),
      what,
      effectMs,
    );
  }

  /** Moves the mouse to the middle of the status bar, where nothing tells of itself. */
  async rest() {
    await this.page.mouse.move(750, 940);
  }

  /** A click on a worker's row, repeated only late: what opens in the panel's place must not catch it. */
  async attach(row, effect, what) {
    await this.gesture(
      async () => {
        await this.rest();
        await this.unfoldGroups();
        // Not forced: it waits until the row stands still, for a row that moves lets the click fall on its group.
        await row.first().click({ timeout: EFFECT_MS });
        await this.rest();
      },
      effect,
      what,
      15_000,
    );
  }

  /** Unfolds the groups of paused workers. */
  async unfoldGroups() {
    const folded = this.page.locator('.pane-body .monaco-list-row[aria-expanded="false"]', {
      hasText: /\d (paused|held|attached|running)/,
    });
    for (let left = await folded.count(); left > 0; left -= 1) {
      await folded.first().locator(".monaco-tl-twistie").click({ timeout: EFFECT_MS });
    }
  }

  async key(keys, effect, what) {
    await this.gesture(() => this.page.keyboard.press(keys), effect, what);
  }

  /** Runs a command by its title through the palette. */
  async command(title, effect, what = `“${title}” has its effect`, effectMs = EFFECT_MS) {
    await this.gesture(
      async () => {
        const { input } = await this.palette();
        await input.fill(`>${title}`);
        const row = this.page.locator(".quick-input-list .monaco-list-row.focused");
        const wanted = title.split(": ").at(-1);
        await until(async () => (await row.first().textContent())?.includes(wanted), "", EFFECT_MS);
        await this.page.keyboard.press("Enter");
      },
      effect,
      what,
      effectMs,
    );
  }

  /** Opens the palette afresh: the list of an open one lacks the commands that came meanwhile. */
  async palette() {
    const input = this.page.locator(".quick-input-widget:visible input").first();
    await this.page.keyboard.press("Escape");
    await until(async () => !(await input.isVisible()), "", EFFECT_MS);
    await this.page.keyboard.press("F1");
    await until(() => input.isVisible(), "", EFFECT_MS);
    return { input };
  }

  /** A row of a view, by words of what a screen reader says of it. */
  row(words) {
    return this.page.locator(".pane-body .monaco-list-row", { hasText: words });
  }

  /** The icon of Eagleray in the activity bar. */
  icon() {
    return this.page.locator('.activitybar a[aria-label^="Eagleray"]');
  }

  /** Opens the panel by its icon. */
  async openPanel() {
    // Other views may name Eagleray as well: in 1.105 the list of debuggers does.
    const header = this.page.locator(".sidebar .pane-header", { hasText: "Paused Workers" });
    await this.click(this.icon(), () => header.first().isVisible(), "the panel is open");
  }

  toolbar() {
    return this.page.locator(".debug-toolbar:visible");
  }

  /** A button of the toolbar of the session in front. */
  button(name) {
    return this.page.locator(`.debug-toolbar:visible .action-label[aria-label^="${name}"]`);
  }

  /** The breakpoints that the gutter of the editor shows. */
  breakpoints() {
    return this.page.locator(".codicon-debug-breakpoint");
  }

  /** Sets the editor's first breakpoint, by a click in its gutter. */
  async breakpoint(line) {
    const number = this.page.locator(".margin-view-overlays .line-numbers", {
      hasText: new RegExp(`^${line}$`),
    });
    await this.gesture(
      async () => {
        const box = await number.first().boundingBox();
        await this.page.mouse.click(box.x - 8, box.y + box.height / 2);
      },
      () => this.breakpoints().first().isVisible(),
      "the gutter shows a breakpoint",
    );
  }

  /** The lines of the editor that carry the yellow mark of a stop: one for each session that stands in it. */
  stoppedLines() {
    return this.linesWith(".debug-top-stack-frame-line");
  }

  /** The lines of the editor that have a breakpoint in the gutter. */
  breakpointLines() {
    return this.linesWith(".monaco-editor .codicon-debug-breakpoint");
  }

  /** Makes one click in the gutter; the mouse stays nowhere, since the hint below it looks like a breakpoint. */
  async clickGutter(line) {
    const number = this.page.locator(".margin-view-overlays .line-numbers", {
      hasText: new RegExp(`^${line}$`),
    });
    const box = await number.first().boundingBox();
    await this.page.mouse.click(box.x - 8, box.y + box.height / 2);
    await this.rest();
  }

  /** Makes a click in the gutter, until the line has a breakpoint or none, as `wanted` says. */
  async toggleBreakpoint(line, wanted) {
    await this.gesture(
      () => this.clickGutter(line),
      async () => (await this.breakpointLines()).includes(line) === wanted,
      `line ${line} has ${wanted ? "a" : "no"} breakpoint`,
    );
  }

  /** Asked in the page at once: as a question for each line it kept a processor busy while something is waited for. */
  linesWith(selector) {
    return this.page.evaluate((marked) => {
      const boxes = (which) =>
        [...document.querySelectorAll(which)]
          .map((one) => ({ one, box: one.getBoundingClientRect() }))
          .filter(({ box }) => box.width > 0 && box.height > 0);
      const marks = boxes(marked);
      return boxes(".margin-view-overlays .line-numbers")
        .filter(({ box }) => marks.some((mark) => Math.abs(mark.box.y - box.y) < 6))
        .map(({ one }) => Number(one.textContent));
    }, selector);
  }

  /** Whether the editor looks at a stop in that line. */
  async isAt(line) {
    const cursor = this.page.locator(".statusbar-item", { hasText: `Ln ${line}, Col` });
    return (await cursor.first().isVisible()) && (await this.stoppedLines()).includes(line);
  }

  standsAt(line) {
    return until(() => this.isAt(line), `the editor stands at line ${line}`, LIMIT_MS);
  }

  /** Asks the debug console; the answer must not stand in the question, which is shown as well. */
  async evaluates(expression, answer) {
    const input = this.page.locator(".repl-input-wrapper .monaco-editor");
    const said = this.page.locator(".repl .monaco-list-row", { hasText: answer });
    await this.command("Debug Console: Focus on Debug Console View", () =>
      input.first().isVisible(),
    );
    await this.gesture(
      async () => {
        await input.first().click();
        await this.page.keyboard.type(expression);
        await this.page.keyboard.press("Escape");
        await this.page.keyboard.press("Enter");
      },
      () => said.first().isVisible(),
      `the console answers ${answer}`,
    );
  }

  /** A message, while it is shown by itself or when the list of messages is open. */
  notification(words) {
    const items =
      ".notifications-toasts .notification-toast, .notifications-center .notification-list-item";
    return this.page.locator(items, { hasText: words }).locator("visible=true");
  }

  /** Waits for a message; one that has hidden itself already is looked up in the list of messages. */
  async told(words, what) {
    const bell = this.page.locator('[id="status.notifications"] a');
    const message = this.notification(words);
    await this.click(bell, () => message.first().isVisible(), `one is told ${what}`);
    return message.first();
  }

  /** Waits for a message and presses a button of it, until that has its effect. */
  async answer(words, title, effect, what) {
    await this.told(words, what);
    const pressed = this.notification(words).locator(".monaco-button", { hasText: title });
    const bell = this.page.locator('[id="status.notifications"] a');
    await this.gesture(
      async () => {
        if (!(await pressed.first().isVisible())) await bell.click({ timeout: EFFECT_MS });
        await pressed.first().click({ timeout: EFFECT_MS });
      },
      effect,
      `“${title}” has its effect`,
    );
  }

  /** Puts all messages away. */
  async clearMessages() {
    const any = this.notification(/./);
    await this.command(
      "Notifications: Clear All Notifications",
      async () => (await any.count()) === 0,
    );
  }
}
