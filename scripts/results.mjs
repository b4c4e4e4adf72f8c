// The results of one suite, read from what its runner wrote.
import { existsSync, readFileSync } from "node:fs";

/**
 * `{passed: names, failed: names, skipped: "name: reason"s, reasons: {failed name: first line}}` of a JUnit file,
 * or undefined without one.
 */
export function readJunit(file) {
  if (!existsSync(file)) return undefined;
  const results = { passed: [], failed: [], skipped: [], reasons: {} };
  const cases = /<testcase\s([^>]*?)(\/>|>([\s\S]*?)<\/testcase>)/g;
  for (const [, attributes, , inside = ""] of readFileSync(file, "utf8").matchAll(cases)) {
    const name = [attribute(attributes, "classname"), attribute(attributes, "name")]
      .filter((word) => word && word !== "test")
      .join(" ");
    const skip = /<skipped\s?([^>]*)/.exec(inside);
    const failure = /<(?:failure|error)(?:\s([^>]*))?>/.exec(inside);
    if (failure) {
      results.failed.push(name);
      results.reasons[name] = attribute(failure[1] ?? "", "message").split("\n")[0];
    } else if (skip)
      results.skipped.push(`${name}: ${attribute(skip[1], "message") || "no reason"}`);
    else results.passed.push(name);
  }
  return results;
}

function attribute(attributes, name) {
  const found = new RegExp(`\\b${name}="([^"]*)"`).exec(attributes);
  return unescape(found?.[1] ?? "");
}

function unescape(text) {
  return text
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/&quot;/g, '"')
    .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
    .replace(/&amp;/g, "&");
}

/** The same of a script that closes with `N passed, N failed` and lists its failures as `not ok NAME`. */
export function readClosingLine(output) {
  const lines = [...output.matchAll(/^(\d+) passed, (\d+) failed$/gm)];
  const last = lines.at(-1);
  if (last === undefined) return undefined;
  const [passed, failed] = [Number(last[1]), Number(last[2])];
  // A reason is indented under the name.
  const failures = [...output.matchAll(/^( *)(?:not ok|FAILED) (.*)(?:\n\1 +(\S.*))?$/gm)];
  const names = failures.map(([, , name]) => name);
  return {
    passed: Array.from({ length: passed }, (_, index) => `test ${index + 1}`),
    failed: Array.from({ length: failed }, (_, index) => names[index] ?? "a test"),
    skipped: [...output.matchAll(/^ *skipped:? (.*)$/gm)].map(([, name]) => name),
    reasons: Object.fromEntries(failures.map(([, , name, reason = ""]) => [name, reason])),
  };
}

/** The end of an output; the lines before it were printed as they came. */
export function lastLines(output, count = 400) {
  const lines = output.trimEnd().split("\n");
  const left = lines.length - count;
  if (left <= 0) return lines.join("\n");
  return [`(${left} lines before these stand above, where they were printed)`]
    .concat(lines.slice(-count))
    .join("\n");
}
