/**
 * Records the colours and styles that a real VS Code gives every page, in tests/vscode/pages/recorded/themes.json; of the
 * colours only those that our pages use.
 *
 *     node tests/vscode/themes.mjs [--vscode 1.139]
 */

import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { launch, openPage } from "./harness/browser.mjs";
import { endAll, endWithRun } from "./harness/cleanup.mjs";
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
  const text = JSON.stringify({ vscode: version, names, style, themes: recorded }, undefined, 1);
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
