/** The editor's window, used with mouse and keyboard as a user does: each gesture is made once, then its effect is awaited. */

import { randomUUID } from "node:crypto";
import * as path from "node:path";
import { Gestures } from "./gestures.mjs";
import { writeSettings } from "./server.mjs";
import { LIMIT_MS as TIMEOUT_MS, until } from "./until.mjs";

/** How long a click waits for its element, which may be drawn again meanwhile. */
const DRAWN_MS = 30_000;
/** An event changes rows several times, within less than this. */
const SETTLED_MS = 400;
/** The palette lists all commands within less than this. */
const LISTED_MS = 600;
const NOT_DRAWN = /not visible|not attached|outside of the viewport/;
/** The list of notifications opens within this time. */
const LIST_OPENS_MS = 3000;
/** A context menu that is open. */
const MENU = ".monaco-menu:visible";

export class Window {
  shots = 0;

  /** `gestures` counts the gestures in all windows of a story. */
  constructor(page, shotsFolder, prefix, gestures = new Gestures()) {
    this.page = page;
    this.shotsFolder = shotsFolder;
    this.prefix = prefix;
    this.gestures = gestures;
  }

  /** Starts another story in this window, with pictures of its own. */
  startStory(prefix) {
    this.prefix = prefix;
    this.shots = 0;
  }

  /** Writes settings for `server` and waits until the window has read them, which its title shows. */
  async applySettings(server, settings) {
    const title = `settings ${randomUUID()}`;
    writeSettings(server.folders, settings, { "window.title": title });
    await until(async () => (await this.page.title()).includes(title), "the settings are read");
  }

  /** Waits until the workbench is drawn, with the views that were open before. */
  async ready() {
    await this.waitFor(this.page.locator(".monaco-workbench .activitybar"), "the workbench");
    const isRestored = () =>
      this.page.evaluate(() => performance.getEntriesByName("code/didStartWorkbench").length > 0);
    await until(isRestored, "the workbench has restored its views", TIMEOUT_MS);
  }

  /** Leaves the page before it is closed, else the extension host of the window may keep running. */
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

  /** The texts of lists and messages, for the report of a failure. */
  async visibleTexts() {
    const parts = this.page.locator(".monaco-list-row, .notification-toast, .welcome-view-content");
    const texts = await parts.allTextContents().catch(() => []);
    return `In the window: ${JSON.stringify(texts.slice(0, 40))}`;
  }

  /** Waits for an element to be visible. */
  async waitFor(locator, what, timeoutMs = TIMEOUT_MS) {
    await until(() => locator.first().isVisible(), `${what} is visible`, timeoutMs);
    return locator.first();
  }

  /** Waits until no such element is left. */
  async waitForNone(locator, what) {
    await until(async () => (await locator.count()) === 0, `${what} is gone`, TIMEOUT_MS);
  }

  /** Makes `gesture` and waits until `effect()` is true; a repeated gesture fails the story unless it is listed. */
  gesture(gesture, effect, what) {
    const onRepeat = async () => {
      await this.shot("repeated").catch(() => undefined);
      return await this.visibleTexts();
    };
    return this.gestures.make(gesture, effect, what, {
      onRepeat,
      isRefused: () => this.hasListChanged(),
    });
  }

  /** Whether our message says that a list was redrawn under the mouse and nothing was done; closes it. */
  async hasListChanged() {
    const message = this.notification("The list has changed. Nothing was done.").first();
    if (!(await message.isVisible())) return false;
    await message.hover({ force: true });
    await message.locator(".codicon-notifications-clear").first().click({ force: true });
    await this.moveMouseAway();
    return true;
  }

  async click(locator, effect, what) {
    await this.gesture(
      async () => {
        // The hover of the last gesture would cover the element.
        await this.moveMouseAway();
        await this.clickOnce(locator.first());
        await this.moveMouseAway();
      },
      effect,
      what,
    );
  }

  /**
   * Clicks an element as soon as it is drawn; `before` is called before each attempt.  Only an error that says that
   * the element isn't drawn is sure to come before the click.
   */
  async clickOnce(locator, before = () => {}) {
    const end = Date.now() + DRAWN_MS;
    for (;;) {
      await before();
      try {
        return await locator.click({ force: true });
      } catch (error) {
        const [reason] = error.message.split("\n");
        if (!NOT_DRAWN.test(reason) || Date.now() > end) throw error;
      }
      await this.page.waitForTimeout(100);
    }
  }

  /**
   * Chooses an entry of a row's context menu; `titles`: its title, after the titles of the submenus that lead to it.
   */
  async fromMenu(row, titles, effect, what) {
    const menu = this.page.locator(MENU);
    const entries = [titles]
      .flat()
      .map((title) => menu.locator(".action-label", { hasText: title }));
    await this.gesture(
      async () => {
        await this.clickForMenu(row);
        // A submenu opens while the mouse is over its entry.
        for (const entry of entries) await entry.first().hover();
        // In its first 100 ms, VS Code's menu takes a click for the end of the click that opened it.  A timer of the
        // page runs after the menu's, however slow the page is.
        await this.page.evaluate(() => new Promise((done) => setTimeout(done, 150)));
        await entries.at(-1).first().click();
      },
      async () => Boolean(await effect()),
      what,
    );
  }

  /** Opens a row's context menu and leaves it open. */
  async openMenu(row) {
    await this.gesture(
      () => this.clickForMenu(row),
      () => this.page.locator(MENU).first().isVisible(),
      "the menu is open",
    );
  }

  async clickForMenu(row) {
    // A menu that is still open covers the rows.
    if ((await this.page.locator(MENU).count()) > 0) await this.page.keyboard.press("Escape");
    await this.moveMouseAway();
    await this.settled(row);
    await this.#pressUntilHit(row, () => row.first().click({ button: "right" }), {
      type: "contextmenu",
    });
  }

  /** Moves the mouse to the middle of the status bar, where nothing reacts to it. */
  async moveMouseAway() {
    await this.page.mouse.move(750, 940);
  }

  /** Clicks a button of a row, which is shown only while the mouse is over the row. */
  async clickRowButton(row, name, effect, what) {
    const button = row.first().locator(`.action-label[aria-label^="${name}"]`).first();
    await this.gesture(
      async () => {
        await this.settled(row);
        // A row that moves away hides its button; the mouse follows the row until the click is made.
        const hover = () => row.first().hover();
        const part = `[aria-label^="${name}"]`;
        await this.#pressUntilHit(row, () => this.clickOnce(button, hover), { part });
        await this.moveMouseAway();
      },
      effect,
      what,
    );
  }

  /**
   * Presses a mouse button until `row`, or the part of it that matches `part`, has received the event (`click`,
   * `contextmenu`).  The browser makes no click of a press and a release if the view was drawn again between them, and a
   * row that has moved under the mouse meanwhile gets the event of another: it is stopped before the editor gets it.
   */
  async #pressUntilHit(row, press, { type = "click", part = ".monaco-list-row" } = {}) {
    const label = (await row.first().getAttribute("aria-label")) ?? "";
    const [subject] = label.split(",");
    const watched = await this.page.evaluateHandle(watchRow, { type, part, subject });
    const isHit = () => watched.evaluate(({ isHit }) => isHit);
    try {
      const pressed = async () => (await press(), isHit());
      await until(pressed, `the row of “${subject}” gets the ${type}`, DRAWN_MS);
    } finally {
      await watched.evaluate(({ end }) => end());
    }
  }

  /** Clicks a worker's row. */
  async attach(row, effect, what) {
    await this.gesture(
      async () => {
        await this.moveMouseAway();
        await this.unfoldGroups();
        await this.settled(row);
        // Not forced: it waits until the row no longer moves, else the click would hit its group.
        await this.#pressUntilHit(row, () => row.first().click());
        await this.moveMouseAway();
      },
      effect,
      what,
    );
  }

  /**
   * Waits until a row and its view have had the same text for a moment.  While a view is being redrawn, as it is when a
   * duration in any row grows, VS Code runs the commands of its buttons and menus without the row (see `Selection` in
   * extension/panel.ts).
   */
  async settled(row) {
    let last;
    let since;
    const isSettled = async () => {
      const text = await row
        .first()
        .evaluate((element) =>
          [element, element.closest(".pane-body")].map((each) => each?.textContent).join(),
        );
      if (text !== last) since = Date.now();
      last = text;
      return Date.now() - since > SETTLED_MS;
    };
    await until(isSettled, "the row no longer changes", TIMEOUT_MS);
  }

  /** Unfolds the groups of paused workers. */
  async unfoldGroups() {
    const folded = this.page.locator(
      '.pane-body .monaco-list-row[aria-expanded="false"][aria-label^="group "]',
    );
    for (let count = await folded.count(); count > 0; count -= 1) {
      await folded.first().locator(".monaco-tl-twistie").click();
    }
  }

  async key(keys, effect, what) {
    await this.gesture(() => this.page.keyboard.press(keys), effect, what);
  }

  /** Runs a command by its title through the palette. */
  async command(title, effect, what = `“${title}” has its effect`) {
    await this.gesture(
      async () => {
        await this.closeQuickInput();
        await this.page.keyboard.press("F1");
        await this.quickInput().waitFor();
        await this.quickInput().fill(`>${title}`);
        await this.focusInPalette(title);
        await this.page.keyboard.press("Enter");
      },
      effect,
      what,
    );
  }

  /**
   * Moves to the command of the palette with this title, or whose title begins so.  The palette lists commands that
   * were used before first, also those with a longer title.
   */
  async focusInPalette(title) {
    const rows = this.page.locator(".quick-input-list .monaco-list-row");
    const name = (row) => row.locator(".label-name").first().textContent();
    const focused = rows.and(this.page.locator(".focused"));
    const [last] = title.split(": ").slice(-1);
    const isListed = async () => (await focused.first().textContent())?.includes(last);
    await until(isListed, `the palette lists “${title}”`);
    const namesOf = async () => Promise.all((await rows.all()).map(name));
    const own = (names) => names.find((listed) => listed === title || listed === `${title}…`);
    // The ones that were used before are listed first, the others a moment later.
    await until(async () => own(await namesOf()) !== undefined, "", LISTED_MS).catch(() => {});
    const names = await namesOf();
    const wanted = own(names) ?? names.find((listed) => listed?.includes(title));
    const isFocused = async () => (await name(focused.first())) === wanted;
    for (let step = 0; step < names.length && !(await isFocused()); step += 1) {
      await this.page.keyboard.press("ArrowDown");
    }
    if (!(await isFocused())) throw new Error(`the palette has no “${title}”: ${names.join(", ")}`);
  }

  /** The text field of the palette and other quick picks. */
  quickInput() {
    return this.page.locator(".quick-input-widget:visible input").first();
  }

  /** Waits until no quick pick is open: the next keys have another meaning in one that is just closing. */
  async closeQuickInput() {
    const isClosed = async () => !(await this.quickInput().isVisible());
    await until(isClosed, "", 1000).catch(() => this.page.keyboard.press("Escape"));
    await until(isClosed, "the quick pick is closed");
  }

  /** A row of a view, by its text. */
  row(text) {
    return this.page.locator(".pane-body .monaco-list-row", { hasText: text });
  }

  /** A row of the view with this title, by its text. */
  rowOf(view, text) {
    return this.page
      .locator(".pane", {
        has: this.page.locator(`.pane-header[aria-label^="${view}"]`),
      })
      .locator(".monaco-list-row", { hasText: text });
  }

  /** The row of a worker in the view Paused, by the state that is read aloud: the icon alone shows it. */
  worker(name, state) {
    return this.page.locator(
      `.pane-body .monaco-list-row[aria-label^="${name}, "][aria-label*=", ${state}"]`,
    );
  }

  /** Fails if the side bar, 300 px wide by default, cuts the text of a row of the view with this title. */
  async assertRowsAreWhole(view) {
    const { width, rows, cut } = await this.page.evaluate((title) => {
      const isOfView = (pane) =>
        pane.querySelector(".pane-header")?.getAttribute("aria-label")?.startsWith(title);
      const pane = [...document.querySelectorAll(".sidebar .pane")].find(isOfView);
      const all = [...(pane?.querySelectorAll(".monaco-list-row") ?? [])];
      const isCut = (row) =>
        [...row.querySelectorAll(".monaco-icon-label-container")].some(
          (text) => text.scrollWidth > text.clientWidth,
        );
      return {
        width: document.querySelector(".part.sidebar").clientWidth,
        rows: all.length,
        cut: all.filter(isCut).map((row) => row.textContent),
      };
    }, view);
    if (rows === 0 || cut.length > 0 || width > 300) {
      throw new Error(
        `Of ${rows} rows of ${view} at ${width} px these are cut: ${cut.join(" | ")}`,
      );
    }
  }

  /** Waits for a mark beside a line of the editor, which isn't an element but the style of one. */
  async waitForMark(text) {
    const isDrawn = () =>
      this.page.evaluate((wanted) => {
        const contentOf = (span) => getComputedStyle(span, "::after").content;
        const spans = [...document.querySelectorAll(".view-line span")];
        return spans.some((span) => contentOf(span).replaceAll("\u00a0", " ").includes(wanted));
      }, text);
    await until(isDrawn, `the mark “${text}” is drawn`, TIMEOUT_MS);
  }

  /** The icon of Eagleray in the activity bar. */
  icon() {
    return this.page.locator('.activitybar a[aria-label^="Eagleray"]');
  }

  /** Opens the panel by its icon. */
  async openPanel() {
    // Other views contain "Eagleray" as well: in 1.105 the list of debuggers.
    const header = this.page.locator(".sidebar .pane-header", { hasText: /^Paused/ });
    await this.gesture(
      async () => {
        await this.moveMouseAway();
        // A click on the icon of the view that is open, perhaps not drawn yet, would close it.
        if (!(await this.isPanelActive())) await this.clickOnce(this.icon().first());
        await this.moveMouseAway();
      },
      () => header.first().isVisible(),
      "the panel is open",
    );
  }

  isPanelActive() {
    return this.icon()
      .first()
      .evaluate((icon) => icon.closest(".action-item").classList.contains("checked"));
  }

  toolbar() {
    return this.page.locator(".debug-toolbar:visible");
  }

  /** A button of the debug toolbar, which acts on the active session. */
  button(name) {
    return this.page.locator(`.debug-toolbar:visible .action-label[aria-label^="${name}"]`);
  }

  /** The breakpoints that the gutter of the editor shows. */
  breakpoints() {
    return this.page.locator(".codicon-debug-breakpoint");
  }

  /** The lines that have the yellow mark of a stop: one for each session that is stopped in this file. */
  stoppedLines() {
    return this.linesWith(".debug-top-stack-frame-line");
  }

  /** The lines of the editor that have a breakpoint in the gutter. */
  breakpointLines() {
    return this.linesWith(".monaco-editor .codicon-debug-breakpoint");
  }

  /** Clicks in the gutter and takes the mouse away, since the hint below it looks like a breakpoint. */
  async clickGutter(line) {
    const number = this.page.locator(".margin-view-overlays .line-numbers", {
      hasText: new RegExp(`^${line}$`),
    });
    const box = await number.first().boundingBox();
    await this.page.mouse.click(box.x - 8, box.y + box.height / 2);
    await this.moveMouseAway();
  }

  /** Sets the breakpoint of a line, or removes it where `isSet` is false, by a click in the gutter. */
  async toggleBreakpoint(line, isSet) {
    await this.gesture(
      () => this.clickGutter(line),
      async () => (await this.breakpointLines()).includes(line) === isSet,
      `line ${line} has ${isSet ? "a" : "no"} breakpoint`,
    );
  }

  /** Evaluated in the page at once: one call per line kept a processor busy during each wait. */
  linesWith(selector) {
    return this.page.evaluate((markSelector) => {
      const boxes = (elementSelector) =>
        [...document.querySelectorAll(elementSelector)]
          .map((element) => ({ element, box: element.getBoundingClientRect() }))
          .filter(({ box }) => box.width > 0 && box.height > 0);
      const marks = boxes(markSelector);
      return boxes(".margin-view-overlays .line-numbers")
        .filter(({ box }) => marks.some((mark) => Math.abs(mark.box.y - box.y) < 6))
        .map(({ element }) => Number(element.textContent));
    }, selector);
  }

  /** Whether the editor shows a stop in that line, with the cursor there. */
  async isStoppedAt(line) {
    const cursor = this.page.locator(".statusbar-item", { hasText: `Ln ${line}, Col` });
    return (await cursor.first().isVisible()) && (await this.stoppedLines()).includes(line);
  }

  waitForStopAt(line) {
    return until(() => this.isStoppedAt(line), `the editor is stopped at line ${line}`, TIMEOUT_MS);
  }

  /** Evaluates in the debug console; `answer` must not be part of the expression, which is shown as well. */
  async evaluate(expression, answer) {
    const input = this.page.locator(".repl-input-wrapper .monaco-editor");
    const shown = this.page.locator(".repl .monaco-list-row", { hasText: answer });
    await this.command("Debug Console: Focus on Debug Console View", () =>
      input.first().isVisible(),
    );
    await this.gesture(
      async () => {
        await input.first().click();
        await this.page.keyboard.type(expression);
        // Closes the suggestions, else Enter would take one.
        await this.page.keyboard.press("Escape");
        await this.page.keyboard.press("Enter");
      },
      () => shown.first().isVisible(),
      `the console answers ${answer}`,
    );
  }

  /** A message, as a toast or in the list of notifications. */
  notification(text) {
    const items =
      ".notifications-toasts .notification-toast, .notifications-center .notification-list-item";
    return this.page.locator(items, { hasText: text }).locator("visible=true");
  }

  /**
   * Waits for a message.  A toast hides after a while, and the list of notifications closes with its last message: so
   * the list is opened whenever neither is shown.
   */
  async waitForMessage(text, what) {
    const message = this.notification(text).first();
    const list = this.page.locator(".notifications-center.visible");
    let openedAt = 0;
    const isShown = async () => {
      if (await message.isVisible()) return true;
      if (!(await list.isVisible()) && Date.now() - openedAt > LIST_OPENS_MS) {
        openedAt = Date.now();
        await this.page.locator('[id="status.notifications"] a').first().click({ force: true });
        // The description of the bell would cover the buttons of a message.
        await this.page.mouse.move(0, 0);
      }
      return false;
    };
    await until(isShown, `${what} is visible`, TIMEOUT_MS);
    return message;
  }

  /** Waits for a message and clicks a button of it. */
  async answerMessage(text, title, effect, what) {
    const button = this.notification(text).locator(".monaco-button", { hasText: title }).first();
    await this.gesture(
      async () => {
        await this.waitForMessage(text, what);
        await button.click();
      },
      effect,
      `“${title}” has its effect`,
    );
  }

  /** Clears all messages. */
  async clearMessages() {
    const any = this.notification(/./);
    await this.command(
      "Notifications: Clear All Notifications",
      async () => (await any.count()) === 0,
    );
  }
}

/** Runs in the page: follows the events of `type` until `end()`, and stops those that reach another row. */
function watchRow({ type, part, subject }) {
  const isRow = (node) => node.matches?.(".monaco-list-row");
  const watched = { isHit: false, end: () => window.removeEventListener(type, watch, true) };
  const watch = (event) => {
    const path = event.composedPath();
    const isOurs = path.some((node) => isRow(node) && node.ariaLabel?.split(",")[0] === subject);
    if (isOurs) watched.isHit ||= path.some((node) => node.matches?.(part));
    else if (path.some(isRow)) event.stopImmediatePropagation();
  };
  window.addEventListener(type, watch, true);
  return watched;
}
