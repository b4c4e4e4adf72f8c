// The translations of scripts/texts/languages: one file per language, an object of English texts and their translations.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { root } from "../paths.mjs";

/** The language that is complete, with the tag that VS Code gives it. */
export const LANGUAGE = "zh-cn";

const FILE = join(root, "scripts", "texts", "languages", `${LANGUAGE}.json`);

/** The translations by English text. */
export function catalogue() {
  return JSON.parse(readFileSync(FILE, "utf8"));
}

/** Writes translations, sorted by English text; leaves out those of texts that aren't in `texts`. */
export function writeCatalogue(translations, texts) {
  const all = new Set(texts);
  const rows = Object.entries(translations).filter(([text]) => all.has(text));
  rows.sort(([left], [right]) => (left < right ? -1 : 1));
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(rows), undefined, 2)}\n`);
}
