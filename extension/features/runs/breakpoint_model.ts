/** The editor's breakpoints as a run takes them. */

import type { Breakpoint, Line } from "./messages";

/** One of the editor's breakpoints, as far as it lies in a file; `line` counts from 1. */
export interface Set {
  readonly path: string;
  readonly line: number;
  readonly enabled: boolean;
  readonly condition: string;
  readonly hit: string;
  readonly log: string;
}

/** Those that workers can stop at, by file, in the order of files and lines; one that is disabled is none. */
export function breakpointsOf(set: readonly Set[]): Breakpoint[] {
  const files = new Map<string, Map<number, Line>>();
  for (const { path, line, enabled, condition, hit, log } of set) {
    if (enabled && isPython(path)) {
      const lines = files.get(path) ?? new Map<number, Line>();
      // Two in one line, at different columns, are one for a debugger of lines.
      files.set(path, lines.set(line, { line, condition, hit, log }));
    }
  }
  return [...files]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([path, lines]) => ({ path, lines: [...lines.values()].sort(byLine) }));
}

/** Whether both say the same. */
export function sameBreakpoints(one: readonly Breakpoint[], other: readonly Breakpoint[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function isPython(path: string): boolean {
  return /\.pyw?$/.test(path);
}

function byLine(one: Line, other: Line): number {
  return one.line - other.line;
}
