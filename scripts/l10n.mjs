// Lists the texts that can be translated, for translators: l10n/bundle.l10n.json from the calls of `l10n.t` in
// extension/, pybackend/eagleray/common/locales/en.json from the calls of `t`, `counted` and `later`.  The texts of
// package.json are in package.nls.json.  `--into FOLDER` writes below that folder, which is the root of an extension;
// `--pseudo` writes a pseudo-language in place of the lists; `--check` writes nothing.  Each names calls that can't be
// translated, and texts in bad style.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

import { interpreter } from "./environments.mjs";
import { root } from "./paths.mjs";
import { must } from "./run.mjs";
import { PSEUDO, pseudo } from "./texts/pseudo.mjs";
import { mistakesIn, replacedWords } from "./texts/style.mjs";
import { textsOf } from "./texts/typescript_texts.mjs";

const BUNDLE = join("l10n", "bundle.l10n.json");
const CATALOGUE = join("pybackend", "eagleray", "common", "locales", "en.json");

const { texts, problems } = textsOf(join(root, "extension"));
const listed = await must(
  interpreter("dev"),
  [join("scripts", "texts", "python_texts.py"), join("pybackend", "eagleray")],
  { cwd: root },
);
const python = JSON.parse(listed);
problems.push(...python.problems);
const manifest = JSON.parse(readFileSync(join(root, "package.nls.json"), "utf8"));
const replaced = replacedWords();
for (const text of [...Object.values(manifest), ...texts, ...python.texts]) {
  problems.push(
    ...mistakesIn(text, replaced).map((mistake) => `${JSON.stringify(text)}: ${mistake}`),
  );
}
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;

const { argv } = process;
const into = argv.includes("--into") ? resolve(argv[argv.indexOf("--into") + 1]) : root;
if (argv.includes("--pseudo")) {
  write(`package.nls.${PSEUDO}.json`, mapped(Object.entries(manifest), pseudo));
  write(BUNDLE.replace(".json", `.${PSEUDO}.json`), mapped(pairs(texts), pseudo));
  write(CATALOGUE.replace("en.json", `${PSEUDO}.json`), mapped(pairs(python.texts), pseudo));
} else if (!argv.includes("--check")) {
  write(BUNDLE, mapped(pairs(texts)));
  write(CATALOGUE, mapped(pairs(python.texts)));
}

/** English is the key of its translations. */
function pairs(list) {
  return list.map((text) => [text, text]);
}

function mapped(entries, change = (text) => text) {
  return Object.fromEntries(entries.map(([key, text]) => [key, change(text)]));
}

function write(name, content) {
  const file = join(into, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(content, undefined, 2)}\n`);
}
