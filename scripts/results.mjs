// The results of one suite: read from what its runner wrote, merged over two tries, printed.
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
      .filter((part) => part && part !== "test")
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
  const match = new RegExp(`\\b${name}="([^"]*)"`).exec(attributes);
  return unescape(match?.[1] ?? "");
}

function unescape(text) {
  return text
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/&quot;/g, '"')
    .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
    .replace(/&amp;/g, "&");
}

/** The same for a script that closes with `N passed, N failed` and lists its failures as `not ok NAME`. */
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

/** The failures of the first try that the second one hasn't; a crashed second try fixed nothing. */
export function fixedBySecondTry(first, second) {
  return second.crashed ? [] : first.failed.filter((name) => !second.failed.includes(name));
}

/** The results after a second try, which counts for everything that ran twice. */
export function mergedResults(first, second, lastFailed) {
  if (!lastFailed) return second;
  return { ...second, passed: [...first.passed, ...second.passed], skipped: first.skipped };
}

/** One line for each `{name, seconds}`, aligned, the slowest first. */
export function slowestFirst(durations) {
  const sorted = [...durations].sort((a, b) => b.seconds - a.seconds);
  return sorted.map(({ name, seconds }) => `${String(seconds).padStart(5)} s  ${name}`);
}

/** The end of an output; the lines before it were printed as they came. */
export function lastLines(output, count = 400) {
  const lines = output.trimEnd().split("\n");
  const omitted = lines.length - count;
  if (omitted <= 0) return lines.join("\n");
  return [`(the ${omitted} lines before these were printed above, as they came)`]
    .concat(lines.slice(-count))
    .join("\n");
}
