/** A headless Chromium, for the window of the editor. */

import * as fs from "node:fs";
import * as path from "node:path";
import { chromium } from "playwright-core";

/** Chromium of the machine: CHROMIUM, or what stands on PATH under one of its names. */
export function chromiumBinary() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  const names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
  const dirs = [...(process.env.PATH ?? "").split(":"), "/usr/bin"];
  for (const name of names) {
    const found = dirs.map((dir) => path.join(dir, name)).find((file) => fs.existsSync(file));
    if (found) return found;
  }
  throw new Error("no chromium on this machine; install it or set CHROMIUM");
}

export function launch() {
  return chromium.launch({
    executablePath: chromiumBinary(),
    headless: true,
    // The run ends it, after it has looked at what went wrong.
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

/** Nothing moves in the page: without a graphics card each frame of an animation is paid by the processor. */
export async function openPage(browser, url, more = {}) {
  const viewport = { width: 1500, height: 950 };
  const context = await browser.newContext({ viewport, reducedMotion: "reduce", ...more });
  const page = await context.newPage();
  page.setDefaultTimeout(90_000);
  await page.goto(url, { timeout: 120_000, waitUntil: "domcontentloaded" });
  return page;
}
