/** What the person wants to run, before it is prepared; pure. */

import type { Breakpoint, Profile } from "./messages";
import type { Prepare } from "../presets/messages";

export type Kind = NonNullable<Prepare["kind"]>;

/** Each field is what a form shows and what launch.json says; "" and null leave the choice to Eagleray. */
export interface Draft {
  /** A file, or the name of a module; "" when `args` is a whole command. */
  readonly path: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly kind: Kind;
  readonly cluster: string;
  readonly env: Readonly<Record<string, string>>;
  readonly workers: readonly string[];
  readonly ranks: readonly number[] | null;
  readonly breakOnFailure: boolean;
  readonly children: boolean;
  /** "": the one that fits, "none": none. */
  readonly preset: string;
  /** The answers to the questions of the preset, by their ids. */
  readonly answers: Readonly<Record<string, string>>;
  readonly python: string;
  /** False for “Run Without Debugging”: nobody stops, and the run belongs to no window. */
  readonly stops: boolean;
  /** What nsys records; null: nothing. */
  readonly profile: Profile | null;
}

/** No preset, by the name that stands for it. */
export const NO_PRESET = "none";

export const PLAIN: Draft = {
  path: "",
  args: [],
  cwd: "",
  kind: "",
  cluster: "",
  env: {},
  workers: [],
  ranks: null,
  breakOnFailure: false,
  children: false,
  preset: NO_PRESET,
  answers: {},
  python: "",
  stops: true,
  profile: null,
};

/** The request for a draft with the breakpoints of the gutter; one that is profiled stops nowhere, which would be measured. */
export function prepareOf(
  draft: Draft,
  workspace: string,
  breakpoints: readonly Breakpoint[],
): Prepare {
  const { path, args, cwd, kind, cluster, preset, python } = draft;
  const { workers, ranks, children, env, answers, breakOnFailure, profile } = draft;
  const stopping =
    draft.stops && profile === null
      ? { breakpoints, post_mortem: breakOnFailure, children }
      : { breakpoints: [], post_mortem: false, children: false };
  return {
    ...{ path, args, cwd, kind, cluster, preset, python },
    workspace: draft.stops ? workspace : "",
    options: { ...stopping, workers, ranks, env, answers, profile },
  };
}
