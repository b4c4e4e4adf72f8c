// All texts of Eagleray that can be translated, and those that a translation lacks.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { interpreter } from "../environments.mjs";
import { root } from "../paths.mjs";
import { must } from "../run.mjs";
import { textsOf } from "./typescript_texts.mjs";

/**
 * `manifest` by key, and lists: `extension`, `python`, `rules` of the doctor, `editor`, which are the texts of `python`
 * that not only the command line has; `problems` are calls that can't be translated.
 */
export async function allTexts() {
  const { texts, problems } = textsOf(join(root, "extension"));
  const script = join("scripts", "texts", "python_texts.py");
  const args = [script, join("pybackend", "eagleray")];
  const python = JSON.parse(await must(interpreter("dev"), args, { cwd: root }));
  return {
    manifest: JSON.parse(readFileSync(join(root, "package.nls.json"), "utf8")),
    extension: texts,
    python: python.texts,
    editor: python.editor,
    rules: python.rules,
    problems: [...problems, ...python.problems],
  };
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
