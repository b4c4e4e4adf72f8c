/** The messages between the editor and the options page; messages of the page are checked like any user input. */

import type { ToPage } from "../../page/page_messages";
import type { RunKind } from "../draft";
import { WHENS } from "../profile_options";
import { inputChecks } from "../option_values";
import type { ClassMatch } from "../../profile/recordings/messages";
import type { SettingDifference } from "./fixed_settings";
import type { Change, PresetQuestion } from "./messages";
import type { Field, OptionsForm } from "./options_model";

/** The parts of the page that can be folded. */
export type OptionsSection = "breakpoints" | "shorten" | "record";

/** The choices that the page offers, and facts that it shows; sent again when one of them changes. */
export interface PageFacts {
  readonly clusters: readonly { readonly id: string; readonly name: string }[];
  readonly presets: readonly {
    readonly name: string;
    readonly title: string;
    readonly isOwn: boolean;
  }[];
  /** "train.py:12", one for each breakpoint of the gutter. */
  readonly breakpoints: readonly string[];
  /** The classes of the known clusters, for patterns. */
  readonly classes: readonly ClassMatch[];
  /** The Python of a program for which none is named. */
  readonly python: string;
  /** The last result about the Python of the page. */
  readonly interpreter: InterpreterNote | null;
  readonly checks: ChecksNote;
}

/** The checks before the run; `text` is the first problem, or why they failed. */
export interface ChecksNote {
  readonly state: "unchecked" | "checking" | "checked" | "failed";
  readonly problems: number;
  readonly text: string;
}

/** A Python, as the text of the field names it, with its version and its Ray, or why it is none. */
export interface InterpreterNote {
  readonly python: string;
  readonly text: string;
  readonly state: "ok" | "warning" | "error";
}

/** The changes of a fix; `undo` are the fields before. */
export interface PageFix {
  readonly differences: readonly SettingDifference[];
  readonly undo: OptionsForm;
}

export interface PageProblem {
  readonly field: Field;
  readonly text: string;
  /** Otherwise it only warns. */
  readonly blocks: boolean;
}

/** The program that would be started; texts are without secrets. */
export interface PagePreview {
  readonly before: string;
  readonly after: string;
  readonly changes: readonly Change[];
  readonly questions: readonly PresetQuestion[];
  /** The preset that is used; "" for none. */
  readonly preset: string;
  /** "verl 0.5"; "" for none. */
  readonly framework: string;
  /** The exact command that is submitted, after a question; "" for none. */
  readonly confirm: string;
  /** The nsys of this machine; "" where it isn't needed. */
  readonly nsys: string;
}

export type ToOptionsPage =
  | ToPage
  | {
      readonly kind: "content";
      readonly form: OptionsForm;
      readonly open: readonly OptionsSection[];
      readonly facts: PageFacts;
      /** null: the options are the run's. */
      readonly fix: PageFix | null;
    }
  | { readonly kind: "facts"; readonly facts: PageFacts }
  /** The answer to the form of that number. */
  | {
      readonly kind: "checked";
      readonly number: number;
      readonly problems: readonly PageProblem[];
      /** null: it can't be prepared. */
      readonly preview: PagePreview | null;
    }
  /** The choice of the user in a dialog. */
  | { readonly kind: "chosen"; readonly field: PathField; readonly path: string }
  | { readonly kind: "composed"; readonly rows: readonly (readonly [string, string])[] }
  | { readonly kind: "notComposed"; readonly reason: string }
  /** Whether a run of this page is being started; `question` is the one that waits for an answer, "" for none. */
  | { readonly kind: "starting"; readonly isOn: boolean; readonly question: string }
  /** The sidecar has started again. */
  | { readonly kind: "recheck" }
  | { readonly kind: "untrusted" };

/** The fields of a file or folder that a dialog can fill. */
export type PathField = "path" | "cwd" | "python" | "nsys" | "output";

/** Actions on the form as it is. */
export type FormAction =
  "start" | "saveLaunch" | "savePreset" | "showDiff" | "compose" | "check" | "edit" | "runChecks";

export type FromOptionsPage =
  | { readonly kind: "ready" }
  /** `form`: null for a page without one. */
  | { readonly kind: FormAction; readonly number: number; readonly form: OptionsForm }
  | { readonly kind: "browse"; readonly field: PathField; readonly form: OptionsForm }
  | {
      readonly kind: "manageTrust" | "showBreakpoints" | "managePresets" | "showLog" | "showChecks";
    };

const ACTIONS: readonly string[] = [
  "start",
  "saveLaunch",
  "savePreset",
  "showDiff",
  "compose",
  "check",
  "edit",
  "runChecks",
] satisfies readonly FormAction[];
const PATHS: readonly string[] = [
  "path",
  "cwd",
  "python",
  "nsys",
  "output",
] satisfies readonly PathField[];
const SIMPLE: readonly string[] = [
  "ready",
  "manageTrust",
  "showBreakpoints",
  "managePresets",
  "showLog",
  "showChecks",
];

/** A message of the page; undefined for anything else. */
export function fromPage(value: unknown): FromOptionsPage | undefined {
  if (!isRecord(value) || typeof value["kind"] !== "string") {
    return undefined;
  }
  const { kind, number, field } = value;
  if (SIMPLE.includes(kind)) {
    return { kind } as FromOptionsPage;
  }
  const form = formFrom(value["form"]);
  if (form === undefined) {
    return undefined;
  }
  if (kind === "browse") {
    const isPath = typeof field === "string" && PATHS.includes(field);
    return isPath ? { kind, field: field as PathField, form } : undefined;
  }
  const isNumbered = typeof number === "number" && Number.isSafeInteger(number);
  return ACTIONS.includes(kind) && isNumbered
    ? { kind: kind as FormAction, number, form }
    : undefined;
}

/** Longer than any text that a person types. */
const LONGEST = 100_000;
const MOST = 200;

const KINDS: readonly string[] = [
  "",
  "program",
  "module",
  "script",
  "command",
  "sbatch",
  "job",
] satisfies readonly RunKind[];

/** How the value of each field is checked. */
const CHECKS: Readonly<Record<keyof OptionsForm, (value: unknown) => boolean>> = {
  file: isText,
  path: isText,
  kind: (value) => typeof value === "string" && KINDS.includes(value),
  args: isText,
  cwd: isText,
  python: isText,
  env: isText,
  cluster: isText,
  ...inputChecks(isTruth, isText),
  shorten: isTruth,
  preset: isText,
  answers: (value) => isRecord(value) && areTexts(Object.entries(value).flat()),
  stops: isTruth,
  record: isTruth,
  recordWorkers: isText,
  recordRanks: isText,
  when: (value) => WHENS.some((when) => when === value),
  steps: isText,
  seconds: isText,
  trace: (value) => Array.isArray(value) && areTexts(value),
  nsys: isText,
  nsysOptions: isText,
  output: isText,
};

/** The fields of a page, as it sent or stored them; undefined for anything else. */
export function formFrom(value: unknown): OptionsForm | undefined {
  if (!isRecord(value)) {
    return undefined;
  }
  const names = Object.keys(CHECKS) as (keyof OptionsForm)[];
  if (!names.every((name) => CHECKS[name](value[name]))) {
    return undefined;
  }
  return Object.fromEntries(names.map((name) => [name, value[name]])) as unknown as OptionsForm;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= LONGEST;
}

function isTruth(value: unknown): value is boolean {
  return typeof value === "boolean";
}

function areTexts(values: readonly unknown[]): boolean {
  return values.length <= MOST && values.every(isText);
}
