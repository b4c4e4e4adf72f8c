// Printed from pybackend/eagleray/runs/presets/messages.py by `npm run messages`; do not edit.
import { request } from "../../common/wire";
import type { RunRequest } from "../messages";

export const PREPARE = request<RunRequest, Proposal>("eagleray/presets/prepare");
export const CHECK = request<RunRequest, OptionsCheck>("eagleray/presets/check");
export const COMPOSE = request<RunRequest, Composition>("eagleray/presets/compose");
export const LIST_PRESETS = request<PresetsOf, Presets>("eagleray/presets/list");
export const SAVE_PRESET = request<SavePreset, Presets>("eagleray/presets/save");
export const DELETE_PRESET = request<PresetRef, Presets>("eagleray/presets/delete");

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

/**
 * `plan`: the id of the plan for `runs/start`; `preset`: the one that it uses; `confirm`: asked before the start;
 * `text`: the lines that `eagleray run --dry-run` prints above the difference.
 */
export interface Proposal {
  readonly title: string;
  readonly before: string;
  readonly after: string;
  readonly questions: readonly PresetQuestion[];
  readonly framework: string;
  readonly framework_version: string;
  readonly plan: string;
  readonly preset: string;
  readonly name: string;
  readonly changes: readonly Change[];
  readonly text: readonly string[];
  readonly presets: readonly PresetRow[];
  readonly problems: readonly RunProblem[];
  readonly confirm: string;
}

/**
 * A problem of one field of the options page, "" for none of them; `answer.NAME` is an answer to a question.
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
 * `proposal`: None if the program can't be prepared.  `nsys` is the one of this machine, "" if it isn't needed or there
 * is none.
 *
 * `ports` are the arguments of the command and its variables that name ports, and nothing else of them.
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

/** A line of the form: a tick with `choices`, else a text; an empty text leaves the program as it is. */
export interface PresetQuestion {
  readonly id: string;
  readonly text: string;
  readonly detail: string;
  readonly choices: readonly string[];
  readonly value: string;
}

/** A preset: one of ours for a framework, or `own`: the user's; `text` is its JSON, for ours one to begin with. */
export interface PresetRow {
  readonly name: string;
  readonly title: string;
  readonly framework: string;
  readonly own: boolean;
  readonly text: string;
}
