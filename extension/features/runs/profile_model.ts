/** What a run records with nsys, as lines of its form. */

import { plain } from "../../common/texts";
import type { Draft } from "./draft";
import type { Profile } from "./messages";

/** Which choice about profiling a line of the form is. */
export type ProfileField =
  | "profile"
  | "profiled"
  | "profileWhen"
  | "profileRanks"
  | "profileTrace"
  | "profileNsys"
  | "profileOutput";

export interface ProfileLine {
  readonly label: string;
  readonly description: string;
  readonly icon: string;
  readonly field: ProfileField;
}

/** What nsys can look at; further ones that a person has typed stay. */
export const TRACES: Readonly<Record<string, string>> = {
  cuda: "kernels, copies and calls of CUDA; needs a GPU",
  nvtx: "ranges that the program names",
  osrt: "calls of the operating system that wait",
  cudnn: "calls of cuDNN",
  cublas: "calls of cuBLAS",
  ucx: "calls of UCX",
};

export const WHENS: Readonly<Record<Profile["when"], string>> = {
  "on-demand": "when you say “Record Now”",
  seconds: "some seconds from the start of each worker",
  steps: "steps of the training",
  always: "from start to end",
};

/** Recording is begun by hand, since nobody knows yet when it matters. */
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

/** One line while nothing is profiled, else all that there is to choose. */
export function profileLines({ profile }: Draft): ProfileLine[] {
  const workers = profile === null ? "" : plain(profile.workers.join(", "));
  if (profile === null) {
    return [line("Profile with nsys", "off", "circle-large-outline", "profile")];
  }
  const ranks = profile.ranks === null ? "all" : profile.ranks.join(", ");
  return [
    line("Profile with nsys", "on", "check", "profile"),
    line("Profiled Workers", workers || "choose who", "filter", "profiled"),
    line("When", whenWords(profile), "watch", "profileWhen"),
    line("Profiled Ranks", ranks, "list-ordered", "profileRanks"),
    line("Trace", plain(profile.trace), "pulse", "profileTrace"),
    line(
      "nsys on the Nodes",
      plain(profile.nsys) || "looked for on each node",
      "tools",
      "profileNsys",
    ),
    line("Output Folder", plain(profile.output) || DEFAULT_OUTPUT, "folder", "profileOutput"),
  ];
}

export const DEFAULT_OUTPUT = "eagleray-profiles, a folder for each run";

/** "steps 3:5", "10 s from the start of each worker". */
export function whenWords({ when, steps, seconds }: Profile): string {
  if (when === "steps") {
    return `steps ${plain(steps)}`;
  }
  return when === "seconds" ? `${seconds} s from the start of each worker` : WHENS[when];
}

/** "3:5", before the fifth of which it ends, or "3" alone; undefined for what names no steps. */
export function stepsOf(text: string): string | undefined {
  const match = /^\s*(\d{1,9})(?:\s*:\s*(\d{1,9}))?\s*$/u.exec(text);
  if (match === null) {
    return undefined;
  }
  const first = Number(match[1]);
  const end = Number(match[2] ?? first + 1);
  return end > first ? `${first}:${end}` : undefined;
}

/** Why this names no nsys on the nodes; "" where it does, as does nothing at all. */
export function nsysProblem(text: string): string {
  const named = text.trim();
  const isMeant = named === "" || /^(?:~?\/[^$]+|[^/$~]+)$/u.test(named);
  return isMeant ? "" : "Write a whole path, such as /usr/local/cuda/bin/nsys, or a name.";
}

/** A number of seconds that is worth a recording. */
export function secondsOf(text: string): number | undefined {
  const seconds = Number(text.trim().replace(",", "."));
  return text.trim() !== "" && seconds > 0 && seconds <= 86_400 ? seconds : undefined;
}

/** The names of a trace, those that nsys has in its own order first. */
export function traceOf(names: readonly string[]): string {
  const known = Object.keys(TRACES).filter((name) => names.includes(name));
  return [...known, ...names.filter((name) => !known.includes(name))].join(",");
}

/** The draft with something else to record. */
export function withProfile(draft: Draft, changes: Partial<Profile>): Draft {
  return { ...draft, profile: { ...(draft.profile ?? NEW_PROFILE), ...changes } };
}

function line(label: string, description: string, icon: string, field: ProfileField): ProfileLine {
  return { label, description, icon, field };
}
