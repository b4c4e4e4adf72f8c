// Printed from pybackend/eagleray/runs/presets/messages.py by `npm run messages`; do not edit.
import { request } from "../../common/wire";
import type { Breakpoint, ProfilePlan } from "../messages";

export const PREPARE = request<Prepare, Proposal>("eagleray/presets/prepare");
export const CHECK = request<Prepare, OptionsCheck>("eagleray/presets/check");
export const COMPOSE = request<Prepare, Composition>("eagleray/presets/compose");
export const LIST_PRESETS = request<PresetsOf, Presets>("eagleray/presets/list");
export const SAVE_PRESET = request<SavePreset, Presets>("eagleray/presets/save");
export const DELETE_PRESET = request<PresetRef, Presets>("eagleray/presets/delete");

/**
 * The user's choices besides the program; `answers` are for `Proposal.questions`, by id.
 *
 * `server_env`: the variables of the chosen server, which `env` overrides; null for a run that
 * gets none.
 */
export interface Options {
  readonly breakpoints?: readonly Breakpoint[];
  readonly workers?: readonly string[];
  readonly ranks?: readonly number[] | null;
  readonly post_mortem?: boolean;
  readonly children?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly server_env?: Readonly<Record<string, string>> | null;
  readonly overrides?: readonly string[];
  readonly answers?: Readonly<Record<string, string>>;
  readonly profile?: ProfilePlan | null;
  readonly watch_minutes?: number;
}

/**
 * `path`: a file or module; "": `args` is the whole command.  `kind` "": detected, or a Ray job
 * with a `cluster`.  `python` "": the one on PATH.  `preset` "": the one that fits; "none": none.
 */
export interface Prepare {
  readonly path: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly kind?: "" | "program" | "module" | "script" | "command" | "sbatch" | "job" | "remote";
  readonly cluster?: string;
  readonly preset?: string;
  readonly python?: string;
  readonly workspace?: string;
  readonly options?: Options;
}

/** Something that the user should know before the start, with what to do about it. */
export interface RunProblem {
  readonly code: string;
  readonly message: string;
  readonly next_step: string;
}

/** A request of a preset and its outcome, as text. */
export interface Change {
  readonly request: string;
  readonly outcome: "unknown version" | "no framework" | "not changed" | "no such option" | "set, effect not verified" | "will apply" | "already so";
  readonly where: string;
  readonly why: string;
  readonly setting: string;
}

/** A preset: one of ours for a framework, or `own`: the user's; `text` is its JSON. */
export interface PresetRow {
  readonly name: string;
  readonly title: string;
  readonly framework: string;
  readonly own: boolean;
  readonly text: string;
}

/**
 * `plan`: the id of the plan for `runs/start`; `preset`: the one that it uses; `before`, `after`:
 * the command without and with the preset; `confirm`: asked before the start;
 * `text`: the lines that `eagleray run --dry-run` prints above the difference.
 */
export interface Proposal {
  readonly plan: string;
  readonly preset: string;
  readonly name: string;
  readonly title: string;
  readonly before: string;
  readonly after: string;
  readonly changes: readonly Change[];
  readonly questions: readonly PresetQuestion[];
  readonly framework: string;
  readonly framework_version: string;
  readonly text: readonly string[];
  readonly presets: readonly PresetRow[];
  readonly problems: readonly RunProblem[];
  readonly confirm: string;
}

/**
 * A problem of one field of the options page, "" for none of them; `answer.NAME` is an answer to a
 * question.
 *
 * `blocks`: the run cannot start.
 */
export interface FieldProblem {
  readonly field: string;
  readonly code: string;
  readonly message: string;
  readonly next_step: string;
  readonly blocks: boolean;
}

/**
 * `proposal`: None if the program can't be prepared.  `nsys` is the one of this machine, "" if it
 * isn't needed or there is none.
 *
 * `ports` are the arguments of the command and its variables that name ports, and nothing else of
 * them.
 */
export interface OptionsCheck {
  readonly problems: readonly FieldProblem[];
  readonly proposal: Proposal | null;
  readonly nsys: string;
  readonly ports: readonly string[];
}

/** The composed value of each key that a preset sets, as text. */
export interface Composition {
  readonly values: Readonly<Record<string, string>>;
}

/** A workspace, by the folder of its window, "" for none. */
export interface PresetsOf {
  readonly workspace: string;
}

/** The presets of a workspace, its own ones last. */
export interface Presets {
  readonly presets: readonly PresetRow[];
}

/** A preset of the user, as JSON; it replaces one of that name. */
export interface SavePreset {
  readonly workspace: string;
  readonly name: string;
  readonly text: string;
}

/** A preset of the user by its name. */
export interface PresetRef {
  readonly workspace: string;
  readonly name: string;
}

/**
 * A line of the form: a tick with `choices`, else a text; an empty text leaves the program as it
 * is.
 */
export interface PresetQuestion {
  readonly id: string;
  readonly text: string;
  readonly detail: string;
  readonly choices: readonly string[];
  readonly value: string;
}
