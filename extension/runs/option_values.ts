/** The values of a run's options: in a draft, as the user types them, and in launch.json. */

import type { RunRequest } from "./messages";
import { patternsOf, ranksOf } from "./parse_input";
import { RUN_OPTIONS } from "./run_options";

export type OptionName = keyof typeof RUN_OPTIONS;
type KindOf<Name extends OptionName> = (typeof RUN_OPTIONS)[Name]["kind"];

interface Values {
  readonly truth: boolean;
  readonly number: number;
  readonly patterns: readonly string[];
  readonly ranks: readonly number[] | null;
}
type Kind = keyof Values;

/** The values by name. */
export type OptionValues = { readonly [Name in OptionName]: Values[KindOf<Name>] };

/** The fields of the options page as typed, so that an invalid one can be kept, and corrected. */
export type OptionInputs = {
  readonly [Name in OptionName]: KindOf<Name> extends "truth" ? boolean : string;
};

export const OPTION_NAMES = Object.keys(RUN_OPTIONS) as OptionName[];

const NONE: Values = { truth: false, number: 0, patterns: [], ranks: null };

function byName(value: (name: OptionName, kind: Kind) => unknown): Record<OptionName, unknown> {
  return Object.fromEntries(
    OPTION_NAMES.map((name) => [name, value(name, RUN_OPTIONS[name].kind)]),
  ) as Record<OptionName, unknown>;
}

/** Options that are not set. */
export const NO_OPTIONS = byName((_, kind) => NONE[kind]) as OptionValues;

/** The options as `read` returns them for a name and its kind. */
export function optionsBy(read: (name: OptionName, kind: Kind) => unknown): OptionValues {
  return byName(read) as OptionValues;
}

/** The check of each field of the options page. */
export function inputChecks(
  isTruth: (value: unknown) => boolean,
  isText: (value: unknown) => boolean,
): Readonly<Record<OptionName, (value: unknown) => boolean>> {
  return byName((_, kind) => (kind === "truth" ? isTruth : isText)) as Record<
    OptionName,
    (value: unknown) => boolean
  >;
}

export function inputsOf(values: OptionValues): OptionInputs {
  return byName((name) => {
    const value: boolean | number | null | readonly (string | number)[] = values[name];
    if (typeof value === "number") {
      return value === 0 ? "" : String(value);
    }
    return typeof value === "boolean" ? value : (value ?? []).join(", ");
  }) as OptionInputs;
}

/** The value of a field; undefined for an invalid text. */
export function valueOf(name: OptionName, inputs: OptionInputs): unknown {
  const input = inputs[name];
  if (typeof input === "boolean") {
    return input;
  }
  const { kind, most } = RUN_OPTIONS[name];
  if (kind === "number") {
    const number = Number(input.trim().replace(",", "."));
    return number >= 0 && number <= most ? number : undefined;
  }
  return kind === "patterns" ? patternsOf(input) : ranksOf(input);
}

/** The options of a form; an invalid field counts as empty. */
export function valuesOf(inputs: OptionInputs): OptionValues {
  return optionsBy((name, kind) => valueOf(name, inputs) ?? NONE[kind]);
}

/** The options that are set. */
export function setOptions(values: OptionValues): Partial<OptionValues> {
  return Object.fromEntries(
    OPTION_NAMES.filter(
      (name) => JSON.stringify(values[name]) !== JSON.stringify(NO_OPTIONS[name]),
    ).map((name) => [name, values[name]]),
  );
}

/** The options by the fields of a request; those about pauses only if the run pauses. */
export function requestedOptions(values: OptionValues, pauses: boolean): Partial<RunRequest> {
  return Object.fromEntries(
    OPTION_NAMES.map((name) => {
      const { field, stops } = RUN_OPTIONS[name];
      return [field, stops && !pauses ? NO_OPTIONS[name] : values[name]];
    }),
  );
}
