/** Parses the text of an input box: arguments of a command, patterns, ranks. */

/** A part of a word as in a shell: quoted, escaped, or plain. */
const PART = /'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)|([^\s'"\\]+)/gsu;

/** The arguments of a command line; undefined where a quote is open.  Variables and globs are not expanded. */
export function argsOf(text: string): string[] | undefined {
  const args: string[] = [];
  let word: string | undefined;
  let at = 0;
  for (const match of text.matchAll(PART)) {
    const gap = text.slice(at, match.index);
    if (gap.trim() !== "") {
      return undefined;
    }
    if (gap !== "" && word !== undefined) {
      args.push(word);
      word = undefined;
    }
    const [whole, single, double, escaped, bare] = match;
    word = `${word ?? ""}${single ?? double?.replace(/\\(["\\$`])/gu, "$1") ?? escaped ?? bare ?? ""}`;
    at = match.index + whole.length;
  }
  if (text.slice(at).trim() !== "") {
    return undefined;
  }
  return word === undefined ? args : [...args, word];
}

/** The arguments as text that `argsOf` splits into the same arguments. */
export function textOf(args: readonly string[]): string {
  return args
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
  return ranks.size === 0 ? null : [...ranks].sort((left, right) => left - right);
}
