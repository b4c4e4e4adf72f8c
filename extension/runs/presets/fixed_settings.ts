/** The settings that a fix changes in a draft: variables, arguments and answers to questions of a preset. */

import { NO_PRESET, type Draft } from "../draft";

/** A setting with its new value; `framework` is the one that has it, "" for any. */
export interface FixedSetting {
  readonly where: "environment" | "override" | "preset";
  readonly name: string;
  readonly value: string;
  readonly framework?: string;
}

/** A setting before and after the fix; `before` is undefined where it isn't set. */
export interface SettingDifference {
  readonly name: string;
  readonly before: string | undefined;
  readonly after: string;
}

export interface FixedDraft {
  readonly draft: Draft;
  readonly differences: readonly SettingDifference[];
}

/** The frameworks of which the settings are, each once. */
export function frameworksOf(settings: readonly FixedSetting[]): string[] {
  return [...new Set(settings.map(({ framework = "" }) => framework))].filter(Boolean);
}

/** The settings that a run of `framework` has; a preset's only where the run uses one. */
export function settingsFor(
  settings: readonly FixedSetting[],
  framework: string,
  { preset }: Draft,
): FixedSetting[] {
  return settings.filter(
    (setting) =>
      ["", framework].includes(setting.framework ?? "") &&
      (setting.where !== "preset" || preset !== NO_PRESET),
  );
}

/** The draft with these settings; what isn't theirs stays as it is. */
export function withSettings(draft: Draft, settings: readonly FixedSetting[]): FixedDraft {
  let fixed = draft;
  const differences: SettingDifference[] = [];
  for (const { where, name, value } of settings) {
    const before = FIXES[where].value(fixed, name);
    fixed = FIXES[where].fixed(fixed, name, value);
    differences.push({ name, before, after: value });
  }
  return { draft: fixed, differences };
}

interface Fix {
  readonly value: (draft: Draft, name: string) => string | undefined;
  readonly fixed: (draft: Draft, name: string, value: string) => Draft;
}

const FIXES: Readonly<Record<FixedSetting["where"], Fix>> = {
  environment: {
    value: ({ env }, name) => env[name],
    fixed: (draft, name, value) => ({ ...draft, env: { ...draft.env, [name]: value } }),
  },
  override: {
    value: ({ args }, name) => argumentOf(args, name)?.value,
    fixed: (draft, name, value) => ({ ...draft, args: withArgument(draft.args, name, value) }),
  },
  preset: {
    value: ({ answers }, name) => answers[name],
    fixed: (draft, name, value) => ({ ...draft, answers: { ...draft.answers, [name]: value } }),
  },
};

interface Argument {
  /** The number of its word, of which the value begins at `start`; -1 for the word after it. */
  readonly at: number;
  readonly start: number;
  readonly value: string;
}

/** The last argument of that name, which is the one that counts: `name=value`, `+name=value` or `--name value`. */
function argumentOf(args: readonly string[], name: string): Argument | undefined {
  const isFlag = name.startsWith("-");
  for (const [at, word] of [...args.entries()].reverse()) {
    const [key = ""] = word.split("=", 1);
    const own = isFlag ? key : key.replace(/^[+~]{1,2}/u, "");
    if (own !== name.replace(/^[+~]{1,2}/u, "")) {
      continue;
    }
    if (word.includes("=")) {
      return { at, start: key.length + 1, value: word.slice(key.length + 1) };
    }
    const next = args[at + 1];
    if (isFlag && next !== undefined) {
      return { at, start: -1, value: next };
    }
  }
  return undefined;
}

function withArgument(args: readonly string[], name: string, value: string): readonly string[] {
  const present = argumentOf(args, name);
  if (present === undefined) {
    return [...args, ...(name.startsWith("-") ? [name, value] : [`${name}=${value}`])];
  }
  const { at, start } = present;
  const changed = start < 0 ? at + 1 : at;
  return args.map((word, index) =>
    index === changed ? `${start < 0 ? "" : word.slice(0, start)}${value}` : word,
  );
}
