/** Copies of the extension with its translations, as a package has them, or with the pseudo-language alone. */

import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { ROOT } from "../harness/ray.mjs";

const PARTS = ["package.json", "package.nls.json", "dist", "media", "samples", "pybackend"];
const LANGUAGES = path.join("common", "locales");

/** Makes one in a temporary folder by the `options` of l10n.mjs, and returns that; without links, since editor and Python look where files really are. */
export function makeExtension(...options) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "er-translated-"));
  const filter = (file) => !file.includes("__pycache__") && !file.endsWith(LANGUAGES);
  for (const part of PARTS) {
    fs.cpSync(path.join(ROOT, part), path.join(folder, part), { recursive: true, filter });
  }
  const script = path.join(ROOT, "scripts", "l10n.mjs");
  execFileSync(process.execPath, [script, ...options, "--into", folder], { stdio: "inherit" });
  return folder;
}
