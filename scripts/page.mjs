// Bundles the pages that run in a frame of the editor, a report, the options of a run, a picture of stacks, trajectories, a comparison, a value and a diagnosis: dist/*_page.js and dist/*_page.css.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { context } from "esbuild";

import { root } from "./paths.mjs";

/** The libraries of the pages, whose licences must be distributed with them, and where the texts are. */
const LICENCES = {
  "@vscode-elements/elements": "@vscode-elements/elements/LICENSE",
  // Its package lacks the text, which is the one of other packages of Microsoft.
  "@vscode/l10n": "vscode-jsonrpc/License.txt",
  lit: "lit/LICENSE",
  uplot: "uplot/LICENSE",
};

/** Builds into `folder`, and again on each change where `watch` is true. */
export async function buildPage({ folder, production, watch }) {
  const page = await context({
    absWorkingDir: root,
    entryPoints: {
      report_page: "extension/profile/reports/page/main.ts",
      options_page: "extension/runs/presets/page/main.ts",
      value_page: "extension/observe/look_inside/page/main.ts",
      picture_page: "extension/observe/hangs/page/main.ts",
      trajectory_page: "extension/rollouts/page/main.ts",
      diagnosis_page: "extension/doctor/page/main.ts",
      wave_page: "extension/rollouts/page/wave/main.ts",
      comparison_page: "extension/rollouts/page/comparison/main.ts",
      exported_page: "extension/page/frame/exported.ts",
    },
    outdir: folder,
    bundle: true,
    format: "iife",
    platform: "browser",
    // The oldest supported editor is built on Chromium 132.
    target: "chrome132",
    minify: production,
    sourcemap: false,
    legalComments: "none",
    logLevel: "info",
  });
  if (watch) {
    await page.watch();
  } else {
    await page.rebuild();
    await page.dispose();
  }
  const texts = Object.entries(LICENCES).map(([name, file]) => licence(name, file));
  writeFileSync(join(folder, "pages.licenses.txt"), texts.join("\n"));
}

function licence(name, file) {
  const text = readFileSync(join(root, "node_modules", file), "utf8");
  return `${name}\n\n${text.trim()}\n`;
}
