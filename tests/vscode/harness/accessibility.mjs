/** The findings of axe-core in a page: rules of WCAG 2.2 AA, and best practices. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** The rules whose outcome depends on the colours of a theme. */
const OF_COLOURS = { type: "rule", values: ["color-contrast", "link-in-text-block"] };

/** `[{ id, help, nodes }]`; `frame` is a page or a frame as it is now. */
export async function violationsIn(frame, rules = RULES) {
  // By the debugger's protocol, which the policy of the page doesn't bind.
  if (!(await frame.evaluate(() => "axe" in globalThis))) await frame.evaluate(AXE);
  return await frame.evaluate(async (runOnly) => {
    const { violations } = await globalThis.axe.run(document, { runOnly });
    return violations.map(({ id, help, nodes }) => ({
      id,
      help,
      nodes: nodes.slice(0, 3).map(({ html, failureSummary }) => `${html} ${failureSummary}`),
    }));
  }, rules);
}

/** Fails for colours in the page that are hard to tell from each other. */
export async function assertReadable(frame, theme) {
  assert.deepEqual(await violationsIn(frame, OF_COLOURS), [], theme);
}

export async function assertAccessible(frame, what = "the page") {
  assert.deepEqual(await violationsIn(frame), [], what);
  assert.deepEqual(await repeatedIds(frame), [], `${what}: ids of several elements`);
}

/** A label names the first element of an id only; axe-core has no rule for that any more. */
async function repeatedIds(frame) {
  return await frame.evaluate(() => {
    const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
    return ids.filter((id, index) => ids.indexOf(id) !== index);
  });
}

/** The frame in which a locator is. */
export async function frameOf(locator) {
  return await (await locator.elementHandle()).ownerFrame();
}
