/** The profile options of a run: what nsys records, the defaults, and the values that can be entered. */

import type { Profile } from "./draft";

/** The traces of nsys; other values that the user has entered stay. */
const TRACES: readonly string[] = ["cuda", "nvtx", "osrt", "cudnn", "cublas", "ucx"];

export const WHENS: readonly Profile["when"][] = ["on-demand", "seconds", "steps", "always"];

/** On demand, since the right moment isn't known before the start. */
export const NEW_PROFILE: Profile = {
  workers: [],
  ranks: null,
  when: "on-demand",
  steps: "",
  seconds: 10,
  trace: "cuda,nvtx,osrt",
  options: {},
  nsys: "",
  output: "",
};

/** "3:5", before the fifth of which it ends, or "3" alone; undefined for an invalid text. */
export function stepsOf(text: string): string | undefined {
  const match = /^\s*(\d{1,9})(?:\s*:\s*(\d{1,9}))?\s*$/u.exec(text);
  if (match === null) {
    return undefined;
  }
  const first = Number(match[1]);
  const end = Number(match[2] ?? first + 1);
  return end > first ? `${first}:${end}` : undefined;
}

/** Whether this is a valid path of nsys on the nodes, or empty. */
export function isNsysPath(text: string): boolean {
  const named = text.trim();
  return named === "" || /^(?:~?\/[^$]+|[^/$~]+)$/u.test(named);
}

/** The seconds of a recording; undefined for an invalid text. */
export function secondsOf(text: string): number | undefined {
  const seconds = Number(text.trim().replace(",", "."));
  return text.trim() !== "" && seconds > 0 && seconds <= 86_400 ? seconds : undefined;
}

/** The names of a trace, those that nsys has in its own order first. */
export function traceOf(names: readonly string[]): string {
  const standard = TRACES.filter((name) => names.includes(name));
  return [...standard, ...names.filter((name) => !standard.includes(name))].join(",");
}
