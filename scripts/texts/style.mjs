// The style of texts for users: short sentences without the words that docs/glossary.md keeps out of them.
import { readFileSync } from "node:fs";

/** The longest sentence, in words. */
export const MOST_WORDS = 12;

/** The problems of `text`: `[]` for a good one. */
export function mistakesIn(text, words = replacedWords()) {
  const plain = text.replaceAll(CODE, "code").replaceAll(TARGET, "]");
  return [
    ...sentencesOf(plain)
      .map((sentence) => wordsOf(sentence).length)
      .filter((number) => number > MOST_WORDS)
      .map((number) => `a sentence of ${number} words, not ${MOST_WORDS}`),
    ...words
      .filter((word) => new RegExp(`(?<![\\w-])${word}(?![\\w-])`, "i").test(plain))
      .map((word) => `“${word}” (docs/glossary.md has a better word)`),
  ];
}

/** The first column of the glossary's last table; every script runs in the root of the repository. */
export function replacedWords() {
  const [, table = ""] = readFileSync("docs/glossary.md", "utf8").split(HEADING);
  return table
    .split("\n")
    .filter((line) => line.startsWith("| ") && !/^\| (Not|---)/.test(line))
    .flatMap((line) => line.split("|")[1].split(","))
    .map((word) => word.trim());
}

const HEADING = "## Words that texts for users don't have";
const CODE = /`[^`]*`/g;
/** Where a link leads to. */
const TARGET = /\]\([^)]*\)/g;

function sentencesOf(text) {
  return text.split(/(?<=[.!?…:])\s+|[;\n]\s*/);
}

function wordsOf(sentence) {
  return sentence.match(/\S*\w\S*/g) ?? [];
}
