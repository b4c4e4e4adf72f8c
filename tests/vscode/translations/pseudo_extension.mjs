/** A copy of the extension that has the pseudo-language as its only translation. */

import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { ROOT } from "../harness/ray.mjs";

const PARTS = ["package.json", "package.nls.json", "dist", "media", "samples", "pybackend"];

/** Makes it in a temporary folder, and returns that; without links, since editor and Python look where files really are. */
export function makePseudoExtension() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "er-pseudo-"));
  const filter = (file) => !file.includes("__pycache__");
  for (const part of PARTS) {
    fs.cpSync(path.join(ROOT, part), path.join(folder, part), { recursive: true, filter });
  }
  const script = path.join(ROOT, "scripts", "l10n.mjs");
  execFileSync(process.execPath, [script, "--pseudo", "--into", folder], { stdio: "inherit" });
  return folder;
}
