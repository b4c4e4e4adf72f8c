/**
 * How long the page of a picture takes to draw 10,000 ranks in 300 classes: from the message with the picture until the
 * browser has painted it.  The last line is a JSON array of milliseconds.
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
  const { largePictureMessages, pageDocument } = await pageContents(folder);
  const { themes, style } = recordedThemes();
  const browser = await launch();
  endWithRun(() => browser.close());
  const document = pageDocument({ ...documentParts("picture_page"), title: "picture" });
  const times = [];
  for (let opening = 0; opening < OPENINGS; opening++) {
    const viewport = { width: 1150, height: 950 };
    const options = { theme: themes[0], style, viewport };
    const shown = await ThemedPage.open(browser, "picture_page", document, options);
    const [texts, picture] = largePictureMessages();
    await shown.take(texts);
    times.push(Math.round(await shown.page.evaluate(drawn, picture)));
    await shown.close();
  }
  await endAll();
  console.log(JSON.stringify(times));
} catch (error) {
  await endAll();
  console.error(error);
  process.exit(1);
}
process.exit(0);

/** Milliseconds until the picture is painted; called in the page, where the message is already parsed. */
async function drawn(message) {
  const since = performance.now();
  window.dispatchEvent(new MessageEvent("message", { data: message }));
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  return performance.now() - since;
}
