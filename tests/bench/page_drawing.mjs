/**
 * How long a page takes to draw its largest content: from the message with the content until the browser has painted
 * it. The last line is a JSON array of milliseconds, the one before it has the times for little content, which show how
 * busy the machine is.
 *
 *     node tests/bench/page_drawing.mjs picture_page|trajectory_page
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
  const contents = await pageContents(folder);
  const [name] = process.argv.slice(2);
  const { little, large } = {
    picture_page: { little: pictureWithoutRanks, large: contents.largePictureMessages },
    trajectory_page: { little: noTrajectories, large: contents.manyTrajectoryMessages },
  }[name];
  const browser = await launch();
  endWithRun(() => browser.close());
  const document = contents.pageDocument({ ...documentParts(name), title: name });
  const times = { little: [], large: [] };
  for (let opening = 0; opening < OPENINGS; opening++) {
    times.little.push(await opened(browser, name, document, little(contents)));
    times.large.push(await opened(browser, name, document, large()));
  }
  await endAll();
  console.log(JSON.stringify(times.little));
  console.log(JSON.stringify(times.large));
} catch (error) {
  await endAll();
  console.error(error);
  process.exit(1);
}
process.exit(0);

function pictureWithoutRanks({ pictureStates }) {
  return pictureStates().find(({ name }) => name === "empty").messages;
}

function noTrajectories({ trajectoryStates }) {
  return trajectoryStates().find(({ name }) => name === "nothing").messages;
}

/** Milliseconds in which a new page draws the last of the messages. */
async function opened(browser, name, document, messages) {
  const { themes, style } = recordedThemes();
  const options = { theme: themes[0], style, viewport: { width: 1150, height: 950 } };
  const shown = await ThemedPage.open(browser, name, document, options);
  const content = messages.at(-1);
  for (const message of messages.slice(0, -1)) await shown.take(message);
  // In a call of its own: to free what carried the message here takes the browser longer than to draw it.
  await shown.page.evaluate((message) => void (globalThis.content = message), content);
  const time = Math.round(await shown.page.evaluate(drawn));
  await shown.close();
  return time;
}

/** Milliseconds from the arrival of the content until it is painted; called in the page, which reads the message itself. */
async function drawn() {
  const taken = new Promise((resolve) => window.addEventListener("message", resolve));
  window.postMessage(globalThis.content, "*");
  // The message is written, and the page, whose listener comes first, has not read it yet.
  const since = performance.now();
  await taken;
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  return performance.now() - since;
}
