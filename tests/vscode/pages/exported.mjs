/** Exported pages as a colleague opens them: from a file, without a network, in light and in dark. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as path from "node:path";
import { assertAccessible, assertReadable } from "../harness/accessibility.mjs";
import { python, ROOT } from "../harness/ray.mjs";

const EVIL = `</script><img src=x onerror="document.title='hacked'">`;
const EXPORT = `
import json, sys
from eagleray.page.exported_page import export
from eagleray.page.messages import PageToExport
export(PageToExport(**json.load(sys.stdin)))
`;

/** A file with the page in this state, to whose texts `hostile` markup is added that would run. */
export function exportedFile(folder, { name, page, messages }, hostile) {
  const file = path.join(folder, `${name}.html`);
  const evil = JSON.stringify(EVIL).slice(1, -1);
  let text = JSON.stringify(messages);
  for (const each of hostile) {
    assert.ok(text.includes(each), `no ${each} in ${name}`);
    text = text.replaceAll(each, `${each}${evil}`);
  }
  execFileSync(python(), ["-c", EXPORT], {
    cwd: ROOT,
    env: { ...process.env, PYTHONPATH: path.join(ROOT, "pybackend") },
    input: JSON.stringify({ path: file, page, title: EVIL, messages: text }),
  });
  return file;
}

/** Opens the file in each colour scheme: it is drawn as text, asks for nothing else, searches and folds. */
export async function tryExported(browser, file, { shots, searched, hidden }) {
  for (const colorScheme of ["light", "dark"]) {
    const context = await browser.newContext({
      colorScheme,
      viewport: { width: 1100, height: 900 },
    });
    const page = await context.newPage();
    const problems = [];
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("console", (message) => problems.push(message.text()));
    page.on("request", (request) => problems.push(request.url()));
    await page.goto(`file://${file}`);
    const url = problems.shift();
    assert.equal(url, `file://${file}`);
    assert.equal(await page.title(), EVIL);
    assert.equal(await page.locator("img").count(), 0);
    assert.ok((await page.locator("main").textContent()).includes(EVIL));
    assert.match(
      await page.locator(".exported-bar .note").textContent(),
      /^Exported .* by Eagleray /,
    );
    await page.screenshot({
      path: path.join(shots, `exported-${path.basename(file, ".html")}-${colorScheme}.png`),
    });
    await useSearch(page, searched);
    await useFolds(page, hidden);
    if (colorScheme === "light") await assertReadable(page, "light");
    else await assertAccessible(page, `exported ${path.basename(file)} ${colorScheme}`);
    assert.deepEqual(problems, []);
    await context.close();
  }
}

async function useSearch(page, searched) {
  const count = page.locator(".exported-bar output");
  await page.getByRole("searchbox", { name: "Search", exact: true }).first().fill("nowhere at all");
  assert.equal(await count.textContent(), "No matches");
  await page.getByRole("searchbox", { name: "Search", exact: true }).first().fill(searched);
  assert.match(await count.textContent(), /^1 of \d+$/);
  const shown = await page.evaluate(() => {
    const [match] = CSS.highlights.get("match");
    return { text: String(match), isVisible: match.startContainer.parentElement.checkVisibility() };
  });
  assert.equal(shown.text.toLowerCase(), searched.toLowerCase());
  assert.ok(shown.isVisible, `${searched} is in a closed part`);
}

/** The heading of a part closes it, and a search opens it again. */
async function useFolds(page, text) {
  const fold = page.locator("details.fold", { hasText: text }).first();
  await fold.locator("summary").first().click();
  assert.equal(await fold.evaluate(({ open }) => open), false);
  await page.locator(".exported-bar input").fill(text);
  for (let at = 0; at < 60 && !(await fold.evaluate(({ open }) => open)); at += 1) {
    await page.locator(".exported-bar input").press("Enter");
  }
  assert.equal(await fold.evaluate(({ open }) => open), true);
}
