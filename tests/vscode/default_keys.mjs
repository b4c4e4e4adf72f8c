/**
 * Records the default keys of a real VS Code on Linux, macOS and Windows in tests/manifest/recorded/default_keys.json.
 *
 *     node tests/vscode/default_keys.mjs [--vscode 1.139]
 *
 * The window takes the system from the browser.  A window in a browser has a few keys more than one on the
 * desktop.  The document of the keys ends with comments, which name commands without a key.
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

const SYSTEMS = {
  linux: "X11; Linux x86_64",
  mac: "Macintosh; Intel Mac OS X 10_15_7",
  windows: "Windows NT 10.0; Win64; x64",
};
const file = path.join(ROOT, "tests", "manifest", "recorded", "default_keys.json");
const { version } = options();
const base = fs.mkdtempSync(path.join(os.tmpdir(), "er-keys-"));
endWithRun(() => fs.rmSync(base, { recursive: true, force: true }));
try {
  const recorded = { vscode: version };
  for (const [system, name] of Object.entries(SYSTEMS))
    recorded[system] = await keysOf(system, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, `${JSON.stringify(recorded, undefined, 1)}\n`);
} finally {
  await endAll();
}

/** The keys of commands that need no context, and the keys of commands that do; for a sequence, its first key. */
async function keysOf(system, name) {
  const written = path.join(base, `${system}.json`);
  const server = await start({
    version,
    extensionDir: path.join(ROOT, "tests", "vscode", "keys"),
    folder: base,
    env: { EAGLERAY_KEYS: written },
  });
  const browser = await launch();
  try {
    const userAgent = `Mozilla/5.0 (${name}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36`;
    const page = await openPage(browser, "about:blank", { userAgent });
    await page.exposeFunction("codeAutomationExit", () => undefined);
    await page.exposeFunction("codeAutomationLog", () => undefined);
    const testsPath = path.join(ROOT, "tests", "vscode", "keys", "index.cjs");
    await page.goto(server.url(base, { testsPath }), { timeout: 120_000 });
    await until(() => fs.existsSync(written), `the keys of ${system}`, 120_000);
  } finally {
    await browser.close();
    await server.stop();
  }
  const text = fs.readFileSync(written, "utf8").replaceAll(/^\s*\/\/.*$/gm, "");
  const keys = { everywhere: new Set(), somewhere: new Set() };
  for (const { key, when } of JSON.parse(text)) {
    keys[when === undefined ? "everywhere" : "somewhere"].add(key.split(" ")[0]);
  }
  return {
    everywhere: [...keys.everywhere].sort(),
    somewhere: [...keys.somewhere].filter((key) => !keys.everywhere.has(key)).sort(),
  };
}
