/** A headless Chromium, for the window of the editor. */

import * as fs from "node:fs";
import * as path from "node:path";
import { chromium } from "playwright-core";

/** Chromium of the machine: CHROMIUM, or the first of its names on PATH. */
export function chromiumBinary() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  const names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
  const dirs = [...(process.env.PATH ?? "").split(":"), "/usr/bin"];
  for (const name of names) {
    const file = dirs.map((dir) => path.join(dir, name)).find((each) => fs.existsSync(each));
    if (file) return file;
  }
  throw new Error("no chromium on this machine; install it or set CHROMIUM");
}

export function launch() {
  return chromium.launch({
    executablePath: chromiumBinary(),
    headless: true,
    // The run ends it, after it has kept pictures of a failure.
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--disable-dev-shm-usage",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/** Opens a page without animations, whose frames cost processor time on a machine without a graphics card. */
export async function openPage(browser, url, more = {}) {
  const viewport = { width: 1500, height: 950 };
  const context = await browser.newContext({ viewport, reducedMotion: "reduce", ...more });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  page.setDefaultNavigationTimeout(120_000);
  await page.goto(url, { waitUntil: "domcontentloaded" });
  return page;
}
