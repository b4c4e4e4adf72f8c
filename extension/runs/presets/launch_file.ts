/** Adds a configuration to the text of a launch.json, whose comments and formatting stay. */

const EMPTY = '{\n  "version": "0.2.0",\n  "configurations": []\n}\n';
const INDENT = "  ";

/** The new text; `text` is "" for a missing file.  Undefined without a list of configurations. */
export function withConfiguration(
  text: string,
  configuration: Readonly<Record<string, unknown>>,
): string | undefined {
  const old = text.trim() === "" ? EMPTY : text;
  const at = startOfConfigurations(old);
  if (at === undefined) {
    return undefined;
  }
  const json = JSON.stringify(configuration, undefined, INDENT.length);
  const indented = json.replaceAll("\n", `\n${INDENT.repeat(2)}`);
  const rest = old.slice(at);
  const isEmpty = /^\s*\]/u.test(rest);
  const end = isEmpty ? `\n${INDENT}${rest.trimStart()}` : `,${rest}`;
  return `${old.slice(0, at)}\n${INDENT.repeat(2)}${indented}${end}`;
}

/** `name`, or the first of "name (2)", "name (3)" … that the text doesn't have. */
export function freeName(text: string, name: string): string {
  const isTaken = (candidate: string): boolean => text.includes(JSON.stringify(candidate));
  let free = name;
  for (let number = 2; isTaken(free); number += 1) {
    free = `${name} (${number})`;
  }
  return free;
}

/** A string, a comment, or a single character of JSON with comments. */
const TOKEN = /"(?:\\.|[^"\\])*"|\/\/[^\n]*|\/\*[\s\S]*?\*\/|[^\s]/gu;

/** The offset behind the bracket that opens the list "configurations" of the outermost object. */
function startOfConfigurations(text: string): number | undefined {
  let depth = 0;
  let before = ["", ""];
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token.startsWith("//") || token.startsWith("/*")) {
      continue;
    }
    if (token === "[" && depth === 1 && before.join("") === '"configurations":') {
      return index + 1;
    }
    depth += token === "{" || token === "[" ? 1 : token === "}" || token === "]" ? -1 : 0;
    before = [before[1] ?? "", token];
  }
  return undefined;
}
