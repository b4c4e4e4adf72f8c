/** The messages of the editor to its pages, bundled from its own texts. */

import { createRequire } from "node:module";
import * as path from "node:path";
import { build } from "esbuild";
import { ROOT } from "../harness/ray.mjs";

/** The exports of contents.ts; `folder` gets the bundle. */
export async function pageContents(folder) {
  const outfile = path.join(folder, "contents.cjs");
  await build({
    absWorkingDir: ROOT,
    entryPoints: ["tests/vscode/pages/contents.ts"],
    outfile,
    bundle: true,
    format: "cjs",
    platform: "node",
    target: "node20",
    alias: { vscode: path.join(ROOT, "tests", "fakes", "vscode.ts") },
    logLevel: "warning",
  });
  return createRequire(import.meta.url)(outfile);
}
