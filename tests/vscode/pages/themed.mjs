/** The colours and styles of the editor for its pages, as `node tests/vscode/themes.mjs` has recorded them. */

import { readFileSync } from "node:fs";
import * as path from "node:path";
import { ROOT } from "../harness/ray.mjs";

export const RECORDED = path.join(ROOT, "tests", "vscode", "pages", "recorded", "themes.json");
export const PAGES = ["options_page", "report_page", "picture_page", "diagnosis_page"];

/** The names of the editor's colours and fonts in our pages, and in the style that the editor adds. */
export function usedVariables(style) {
  const files = PAGES.flatMap((name) => [`${name}.css`, `${name}.js`]);
  const texts = files.map((file) => readFileSync(path.join(ROOT, "dist", file), "utf8"));
  return new Set([style, ...texts].flatMap((text) => text.match(/--vscode-[\w-]*\w/g) ?? []));
}

/** `{ style, names, themes: [{ theme, kind, variables }] }`. */
export function recordedThemes() {
  return JSON.parse(readFileSync(RECORDED, "utf8"));
}

/** A name of the document in the policy of a page, as the editor has one for its own. */
const SOURCE = "https://pages.test";

/** One of our pages with its built script, as the editor would show it in a theme. */
export class ThemedPage {
  constructor(page) {
    this.page = page;
  }

  /** Opens the page in the browser; `theme` is one of `recordedThemes()`. */
  static async open(browser, name, document, { theme, style, viewport, reducedMotion = "reduce" }) {
    const context = await browser.newContext({ viewport, reducedMotion });
    const page = await context.newPage();
    page.setDefaultTimeout(10_000);
    const errors = [];
    page.on("pageerror", (error) => errors.push(error));
    await page.addInitScript(() => {
      const sent = [];
      let state;
      globalThis.sentByPage = sent;
      globalThis.acquireVsCodeApi = () => ({
        postMessage: (message) => sent.push(message),
        getState: () => state,
        setState: (next) => (state = next),
      });
    });
    const html = inTheme(document, theme, style);
    await page.route(`${SOURCE}/**`, (route) => {
      const file = new URL(route.request().url()).pathname;
      return file === "/"
        ? route.fulfill({ contentType: "text/html; charset=utf-8", body: html })
        : route.fulfill({ path: path.join(ROOT, "dist", path.basename(file)) });
    });
    await page.goto(`${SOURCE}/`);
    const themed = new ThemedPage(page);
    themed.errors = errors;
    themed.name = name;
    await themed.waitForSent("ready");
    return themed;
  }

  /** Changes the theme of the open page as the editor does. */
  async changeTheme({ kind, variables }) {
    await this.page.evaluate(
      ({ kind, variables }) => {
        const { style } = document.documentElement;
        style.cssText = "";
        for (const [name, value] of Object.entries(variables)) style.setProperty(name, value);
        document.body.className = kind;
      },
      { kind, variables },
    );
  }

  /** Sends a message as the editor does. */
  async take(message) {
    await this.page.evaluate((data) => window.postMessage(data, "*"), message);
    // The page has drawn it after the next frame.
    await this.page.evaluate(
      () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))),
    );
  }

  /** The last message of that kind that the page sent. */
  async waitForSent(kind) {
    const last = (wanted) => globalThis.sentByPage.findLast((message) => message.kind === wanted);
    const handle = await this.page.waitForFunction(last, kind);
    return await handle.jsonValue();
  }

  async close() {
    await this.page.context().close();
    if (this.errors.length > 0) throw this.errors[0];
  }
}

export const documentParts = (name) => ({
  script: `${SOURCE}/${name}.js`,
  style: `${SOURCE}/${name}.css`,
  source: SOURCE,
  nonce: "bm9uY2U",
  translations: "{}",
});

/** The document with what the editor adds: its colours, its style and its classes. */
function inTheme(document, { kind, variables }, style) {
  const colours = Object.entries(variables).map(([name, value]) => `${name}: ${value}`);
  const text = colours.join("; ").replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  return document
    .replace("<html ", `<html style="${text}" `)
    .replace("<head>", `<head><style>${style}</style>`)
    .replace("<body>", `<body class="${kind}">`);
}
