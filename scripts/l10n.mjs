// Lists the texts that can be translated, for translators: l10n/bundle.l10n.json from the calls of `l10n.t` in
// extension/, pybackend/eagleray/common/locales/en.json from the calls of `t`, `counted` and `later` and the doctor's
// rules.  The texts of package.json are in package.nls.json.  Beside each list it writes the translations from
// scripts/texts/languages.  `--into FOLDER` writes below that folder, which is the root of an extension; `--pseudo` writes
// a pseudo-language in place of all; `--check` writes nothing.  Each names calls that can't be translated, and texts in
// bad style.  `--missing` only prints the texts that a language lacks; `--add FILE` adds them with their translations.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

import { interpreter } from "./environments.mjs";
import { root } from "./paths.mjs";
import { must } from "./run.mjs";
import {
  catalogue,
  LANGUAGE,
  missingFrom,
  mistakesOf,
  writeCatalogue,
} from "./texts/catalogue.mjs";
import { PSEUDO, pseudo } from "./texts/pseudo.mjs";
import { mistakesIn, replacedWords } from "./texts/style.mjs";
import { textsOf } from "./texts/typescript_texts.mjs";

const MANIFEST = "package.nls.json";
const BUNDLE = join("l10n", "bundle.l10n.json");
const CATALOGUE = join("pybackend", "eagleray", "common", "locales", "en.json");

const { argv } = process;
const valueOf = (option) => argv[argv.indexOf(option) + 1];
const lists = await allTexts();
const { manifest, extension, python, rules } = lists;
if (argv.includes("--missing")) {
  console.log(asJson(mapped(missingFrom(catalogue(), lists), () => "")));
  process.exit();
}
if (argv.includes("--add")) {
  const added = JSON.parse(readFileSync(valueOf("--add"), "utf8"));
  const all = [...Object.values(manifest), ...extension, ...python, ...rules];
  writeCatalogue({ ...catalogue(), ...added }, all);
  process.exit();
}

const replaced = replacedWords();
const { problems } = lists;
for (const text of [...Object.values(manifest), ...extension, ...python]) {
  problems.push(
    ...mistakesIn(text, replaced).map((mistake) => `${JSON.stringify(text)}: ${mistake}`),
  );
}
if (argv.includes("--check")) problems.push(...problemsOfTranslation());
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;

const into = argv.includes("--into") ? resolve(valueOf("--into")) : root;
if (argv.includes("--pseudo")) {
  writeLanguage(PSEUDO, pseudo);
} else if (!argv.includes("--check")) {
  write(BUNDLE, mapped(extension));
  write(CATALOGUE, mapped([...python, ...rules]));
  const translations = catalogue();
  writeLanguage(LANGUAGE, (text) => translations[text]);
}

/**
 * `manifest` by key, and lists: `extension`, `python`, the doctor's `rules`, and `editor`: the texts of `python` that not
 * only the command line has; `problems` are calls that can't be translated.
 */
async function allTexts() {
  const { texts, problems } = textsOf(join(root, "extension"));
  const args = [join("scripts", "texts", "python_texts.py"), join("pybackend", "eagleray")];
  const python = JSON.parse(await must(interpreter("dev"), args, { cwd: root }));
  return {
    ...{ manifest: JSON.parse(readFileSync(join(root, MANIFEST), "utf8")), extension: texts },
    ...{ python: python.texts, editor: python.editor, rules: python.rules },
    problems: [...problems, ...python.problems],
  };
}

/** The texts that a language lacks, and its mistakes; the last line says what to do. */
function problemsOfTranslation() {
  const found = [
    ...missingFrom(catalogue(), lists).map((text) => `${LANGUAGE} lacks: ${text}`),
    ...mistakesOf(catalogue(), lists).map((mistake) => `${LANGUAGE}: ${mistake}`),
  ];
  const how =
    "`node scripts/l10n.mjs --missing > new.json` lists what a language lacks. Write the translations into it, then\n" +
    "`npm run l10n -- --add new.json` adds them, and removes translations without a text.";
  return found.length > 0 ? [...found, how] : [];
}

/** Writes the three files of a language; a text without a translation is left out, and stays English. */
function writeLanguage(tag, translate) {
  const keys = Object.entries(manifest).map(([key, text]) => [key, translate(text)]);
  write(MANIFEST.replace(".json", `.${tag}.json`), Object.fromEntries(keys));
  write(BUNDLE.replace(".json", `.${tag}.json`), mapped(extension, translate));
  write(CATALOGUE.replace("en.json", `${tag}.json`), mapped([...python, ...rules], translate));
}

/** An object of English texts and what `translate` makes of them; JSON leaves out what is undefined. */
function mapped(texts, translate = (text) => text) {
  return Object.fromEntries(texts.map((text) => [text, translate(text)]));
}

function write(name, content) {
  const file = join(into, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${asJson(content)}\n`);
}

function asJson(content) {
  return JSON.stringify(content, undefined, 2);
}
