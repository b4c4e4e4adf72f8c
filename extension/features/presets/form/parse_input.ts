/** Parses what is typed into a box: words of a command, patterns, ranks. */

/** A part of a word as in a shell: quoted, escaped, or plain. */
const PART = /'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)|([^\s'"\\]+)/gsu;

/** The words of a command line; undefined where a quote is open.  Variables and globs are not expanded. */
export function wordsOf(text: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let at = 0;
  for (const match of text.matchAll(PART)) {
    const gap = text.slice(at, match.index);
    if (gap.trim() !== "") {
      return undefined;
    }
    if (gap !== "" && word !== undefined) {
      words.push(word);
      word = undefined;
    }
    const [whole, single, double, escaped, bare] = match;
    word = `${word ?? ""}${single ?? double?.replace(/\\(["\\$`])/gu, "$1") ?? escaped ?? bare ?? ""}`;
    at = match.index + whole.length;
  }
  if (text.slice(at).trim() !== "") {
    return undefined;
  }
  return word === undefined ? words : [...words, word];
}

/** The words as text that `wordsOf` splits into the same words. */
export function textOf(words: readonly string[]): string {
  return words
    .map((word) =>
      /^[\w@%+=:,./*?[\]{}$~-]+$/u.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`,
    )
    .join(" ");
}

/** Shell patterns, separated by commas. */
export function patternsOf(text: string): string[] {
  return text
    .split(",")
    .map((pattern) => pattern.trim())
    .filter((pattern) => pattern !== "");
}

/** "0, 2-4" as ranks; null for an empty text, undefined for an invalid one. */
export function ranksOf(text: string): number[] | null | undefined {
  const ranks = new Set<number>();
  for (const part of patternsOf(text)) {
    const range = /^(\d{1,6})(?:\s*-\s*(\d{1,6}))?$/u.exec(part);
    if (range === null) {
      return undefined;
    }
    const first = Number(range[1]);
    const last = Number(range[2] ?? range[1]);
    if (last < first || last - first > 100_000) {
      return undefined;
    }
    for (let rank = first; rank <= last; rank += 1) {
      ranks.add(rank);
    }
  }
  return ranks.size === 0 ? null : [...ranks].sort((one, other) => one - other);
}
