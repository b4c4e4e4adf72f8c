/**
 * Records the colours and styles that a real VS Code gives every page, in tests/vscode/pages/recorded/themes.json; of the
 * colours only those that our pages use.  Its own themes' backgrounds are recorded from their files.
 *
 *     node tests/vscode/themes.mjs [--vscode 1.139]
 */

import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import ts from "typescript";
import { launch, openPage } from "./harness/browser.mjs";
import { endAll, endWithRun } from "./harness/cleanup.mjs";
import { install } from "./harness/install.mjs";
import { options } from "./harness/results.mjs";
import { ROOT } from "./harness/ray.mjs";
import { start } from "./harness/server.mjs";
import { until } from "./harness/until.mjs";
import { RECORDED, usedVariables } from "./pages/themed.mjs";

const extensionDir = path.join(ROOT, "tests", "vscode", "pages", "themes");
const { version } = options();
const base = fs.mkdtempSync(path.join(os.tmpdir(), "er-themes-"));
endWithRun(() => fs.rmSync(base, { recursive: true, force: true }));
try {
  const written = path.join(base, "themes.json");
  const server = await start({
    version,
    extensionDir,
    folder: base,
    env: { EAGLERAY_THEMES: written },
  });
  endWithRun(() => server.stop());
  const browser = await launch();
  endWithRun(() => browser.close());
  const page = await openPage(browser, "about:blank");
  await page.exposeFunction("codeAutomationExit", () => undefined);
  await page.exposeFunction("codeAutomationLog", () => undefined);
  const testsPath = path.join(extensionDir, "index.cjs");
  await page.goto(server.url(base, { testsPath }), { timeout: 120_000 });
  await until(() => fs.existsSync(written), "the themes", 120_000);
  const themes = JSON.parse(fs.readFileSync(written, "utf8"));
  const [{ style }] = Object.values(themes);
  const names = [...usedVariables(style)].sort();
  const recorded = Object.entries(themes).map(([theme, { kind, variables }]) => {
    const all = variablesOf(variables);
    const used = names.filter((name) => all.has(name)).map((name) => [name, all.get(name)]);
    return { theme, kind, variables: Object.fromEntries(used) };
  });
  const backgrounds = backgroundsIn(path.join((await install(version)).server, "extensions"));
  const record = { vscode: version, names, style, themes: recorded, backgrounds };
  const text = JSON.stringify(record, undefined, 1);
  fs.writeFileSync(RECORDED, `${text}\n`);
} finally {
  await endAll();
}

/** `--name: value` of the text of a style, by name. */
function variablesOf(text) {
  const parts = text.split(/;\s*(?=--)/);
  return new Map(
    parts.map((part) => [
      part.slice(0, part.indexOf(":")),
      part
        .slice(part.indexOf(":") + 1)
        .replace(/;$/, "")
        .trim(),
    ]),
  );
}

/** The kind of each theme in a folder of extensions, and the colours of its side bar and editor. */
function backgroundsIn(folder) {
  // https://code.visualstudio.com/api/references/theme-color; the side bar's are in VS Code's `common/theme.ts`.
  const defaults = {
    "vs-dark": { "sideBar.background": "#252526", "editor.background": "#1E1E1E" },
    vs: { "sideBar.background": "#F3F3F3", "editor.background": "#FFFFFF" },
    "hc-black": { "sideBar.background": "#000000", "editor.background": "#000000" },
    "hc-light": { "sideBar.background": "#FFFFFF", "editor.background": "#FFFFFF" },
  };
  const colours = (file) => {
    const theme = ts.parseConfigFileTextToJson(file, fs.readFileSync(file, "utf8")).config;
    const included = theme.include ? colours(path.join(path.dirname(file), theme.include)) : {};
    return { ...included, ...theme.colors };
  };
  const names = fs.readdirSync(folder).filter((name) => name.startsWith("theme-"));
  return names.flatMap((name) => {
    const own = path.join(folder, name);
    const { contributes } = JSON.parse(fs.readFileSync(path.join(own, "package.json"), "utf8"));
    return (contributes.themes ?? []).map(({ id, label, uiTheme, path: file }) => {
      const all = { ...defaults[uiTheme], ...colours(path.join(own, file)) };
      const { "sideBar.background": sideBar, "editor.background": editor } = all;
      return { theme: id ?? label, uiTheme, sideBar, editor };
    });
  });
}
