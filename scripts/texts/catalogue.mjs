// The translations of scripts/texts/languages: one file per language, an object of English texts and their translations.
import { readFileSync, writeFileSync } from "node:fs";

/** The language that is complete, with the tag that VS Code gives it. */
export const LANGUAGE = "zh-cn";

/** Every script runs in the root of the repository. */
const FILE = `scripts/texts/languages/${LANGUAGE}.json`;

/** The translations by English text. */
export function catalogue() {
  return JSON.parse(readFileSync(FILE, "utf8"));
}

/** Writes translations, sorted by English text; leaves out what is not in `texts`. */
export function writeCatalogue(translations, texts) {
  const all = new Set(texts);
  const rows = Object.entries(translations).filter(([text]) => all.has(text));
  rows.sort(([left], [right]) => (left < right ? -1 : 1));
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(rows), undefined, 2)}\n`);
}

/** The texts that a complete `catalogue` has and this one lacks. The command line's own texts stay English. */
export function missingFrom(catalogue, { manifest, extension, editor, rules }) {
  const promised = new Set([...Object.values(manifest), ...extension, ...editor, ...rules]);
  return [...promised].filter((text) => catalogue[text] === undefined).sort();
}

/** The mistakes of a `catalogue`, a line each: texts that no longer exist, and translations that lost a part. */
export function mistakesOf(catalogue, { manifest, extension, python, rules }) {
  const all = new Set([...Object.values(manifest), ...extension, ...python, ...rules]);
  return Object.entries(catalogue).flatMap(([text, translation]) => {
    if (!all.has(text)) return [`no longer a text: ${text}`];
    return String(fixedParts(text)) === String(fixedParts(translation))
      ? []
      : [`other placeholders, links, icons or code: ${text} → ${translation}`];
  });
}

/** Parts that are the same in every language. */
const FIXED = /\{\w+\}|\]\([^)]*\)|\$\([\w~-]+\)|`[^`]*`/g;

function fixedParts(text) {
  return [...new Set(text.match(FIXED))].sort();
}
