/**
 * How long the page of a picture takes to draw 10,000 ranks in 300 classes: from the message with the picture until the
 * browser has painted it.  The last line is a JSON array of milliseconds, the one before it has those of an empty picture,
 * which show how busy the machine is.
 *
 *     node tests/bench/picture_page.mjs
 */

import { mkdtempSync, rmSync } from "node:fs";

import { launch } from "../vscode/harness/browser.mjs";
import { endAll, endWithRun } from "../vscode/harness/cleanup.mjs";
import { pageContents } from "../vscode/pages/page_contents.mjs";
import { documentParts, recordedThemes, ThemedPage } from "../vscode/pages/themed.mjs";

const OPENINGS = 5;

const folder = mkdtempSync("/tmp/er-");
endWithRun(() => rmSync(folder, { recursive: true, force: true }));
try {
  const { largePictureMessages, pageDocument, pictureStates } = await pageContents(folder);
  const browser = await launch();
  endWithRun(() => browser.close());
  const document = pageDocument({ ...documentParts("picture_page"), title: "picture" });
  const { messages } = pictureStates().find(({ name }) => name === "empty");
  const times = { empty: [], large: [] };
  for (let opening = 0; opening < OPENINGS; opening++) {
    times.empty.push(await opened(browser, document, messages));
    times.large.push(await opened(browser, document, largePictureMessages()));
  }
  await endAll();
  console.log(JSON.stringify(times.empty));
  console.log(JSON.stringify(times.large));
} catch (error) {
  await endAll();
  console.error(error);
  process.exit(1);
}
process.exit(0);

/** Milliseconds in which a new page draws a picture. */
async function opened(browser, document, [texts, picture]) {
  const { themes, style } = recordedThemes();
  const options = { theme: themes[0], style, viewport: { width: 1150, height: 950 } };
  const shown = await ThemedPage.open(browser, "picture_page", document, options);
  await shown.take(texts);
  // In a call of its own: to free what carried the message here takes the browser longer than to draw it.
  await shown.page.evaluate((message) => void (globalThis.picture = message), picture);
  const time = Math.round(await shown.page.evaluate(drawn));
  await shown.close();
  return time;
}

/** Milliseconds from the arrival of the picture until it is painted; called in the page, which reads the message itself. */
async function drawn() {
  const taken = new Promise((resolve) => window.addEventListener("message", resolve));
  window.postMessage(globalThis.picture, "*");
  // The message is written, and the page, whose listener comes first, has not read it yet.
  const since = performance.now();
  await taken;
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  return performance.now() - since;
}
