/** Names and expressions in lines of Python: for *View Value* at the cursor, and for values beside lines. */

const EXPRESSION = /[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[[\w'".:\- ]*\])*/g;
/** Texts, comments, then names without a dot before them. */
const TOKEN =
  /(?:\b[rbfu]{1,2})?('''|""")|(?:\b[rbfu]{1,2})?(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|#.*|(?<![\w.])([A-Za-z_]\w*)(?!\w)/gi;
const KEYWORDS = new Set([
  "False",
  "None",
  "True",
  "and",
  "as",
  "assert",
  "async",
  "await",
  "break",
  "class",
  "continue",
  "def",
  "del",
  "elif",
  "else",
  "except",
  "finally",
  "for",
  "from",
  "global",
  "if",
  "import",
  "in",
  "is",
  "lambda",
  "nonlocal",
  "not",
  "or",
  "pass",
  "raise",
  "return",
  "try",
  "while",
  "with",
  "yield",
  "self",
  "cls",
]);

/** The variable, with attributes and items up to the cursor, at this column of a line; "" if there is none. */
export function expressionAt(line: string, column: number): string {
  for (const { 0: text, index } of line.matchAll(EXPRESSION)) {
    if (index <= column && column <= index + text.length) {
      const rest = text.slice(column - index);
      const end = /^\w*/.exec(rest)?.[0].length ?? 0;
      // Within brackets the whole item is meant.
      const upto = text.slice(0, column - index + end);
      const isOpen = upto.split("[").length !== upto.split("]").length;
      return isOpen ? text : upto;
    }
  }
  return "";
}

/** A name in a line, where it was used last up to there. */
export interface NamePlace {
  readonly name: string;
  readonly line: number;
  readonly column: number;
}

/** The names in the lines from `first` to `last`, each once a line; texts of several lines are skipped. */
export function namesIn(
  lineAt: (line: number) => string,
  first: number,
  last: number,
): readonly NamePlace[] {
  const places: NamePlace[] = [];
  let isText = false;
  for (let line = first; line <= last; line += 1) {
    const names = new Set<string>();
    for (const { 1: quotes, 2: name, index } of lineAt(line).matchAll(TOKEN)) {
      if (quotes !== undefined) {
        isText = !isText;
      } else if (!isText && name !== undefined && !KEYWORDS.has(name) && !names.has(name)) {
        names.add(name);
        places.push({ name, line, column: index });
      }
    }
  }
  return places;
}

/** The line of the function that has `line`: the nearest `def` above that is indented less, else `line` itself. */
export function functionStart(lineAt: (line: number) => string, line: number): number {
  const limit = indentOf(lineAt(line));
  for (let at = line; at >= 0; at -= 1) {
    const text = lineAt(at);
    if (/^\s*(?:async\s+)?def\b/.test(text) && (indentOf(text) < limit || at === line)) {
      return at;
    }
  }
  return line;
}

function indentOf(text: string): number {
  return text.length - text.trimStart().length;
}
