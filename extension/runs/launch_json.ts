/** Reads the draft of a run from a configuration of launch.json. */

import { l10n } from "vscode";

import { EaglerayError } from "../common/errors";
import { plain } from "../common/texts";
import { PLAIN, type Draft, type Profile, type RunKind } from "./draft";
import { optionsBy, type OptionName } from "./option_values";
import { RUN_OPTIONS } from "./run_options";
import { isNsysPath, NEW_PROFILE, stepsOf, WHENS } from "./profile_options";

/** Exactly one of these attributes names what is run. */
const SUBJECTS: Readonly<Record<string, RunKind>> = {
  program: "program",
  module: "module",
  script: "script",
  sbatch: "sbatch",
};

/** Throws an error of the catalogue for a configuration without a program, with several, or with a wrong type. */
export function draftOfLaunch(config: Config, folder: string): Draft {
  const named = [...Object.keys(SUBJECTS), "command"].filter((name) => name in config);
  const [subject] = named;
  if (subject === undefined || named.length > 1) {
    throw wrong(
      named.length === 0
        ? l10n.t("The launch configuration has nothing to run.")
        : l10n.t("The launch configuration has several programs: {0}.", named.join(", ")),
      l10n.t("Use one of: {0}.", [...Object.keys(SUBJECTS), "command"].join(", ")),
    );
  }
  const isCommand = subject === "command";
  const rest = textList(config, "args");
  return {
    ...PLAIN,
    answers: texts(config, "answers"),
    path: isCommand ? "" : text(config, subject),
    args: isCommand ? [...textList(config, subject), ...rest] : rest,
    kind: SUBJECTS[subject] ?? "command",
    cwd: text(config, "cwd") || folder,
    cluster: text(config, "cluster"),
    python: text(config, "python"),
    env: texts(config, "env"),
    ...optionsBy((name, kind) => READERS[kind](config, name)),
    preset: text(config, "preset") || PLAIN.preset,
    stops: !truth(config, "noDebug"),
    profile: profileOf(config),
  };
}

/** How an option of each kind is read. */
const READERS = { truth, number, patterns: textList, ranks };

/** 0 without this attribute. */
function number(config: Config, name: string): number {
  const value = config[name] ?? 0;
  const { most } = RUN_OPTIONS[name as OptionName];
  if (typeof value !== "number" || !(value >= 0 && value <= most)) {
    throw wrong(l10n.t("“{0}” must be a number up to {1}.", name, most), example("5"));
  }
  return value;
}

/** null without this attribute; throws an error of the catalogue for invalid values. */
function profileOf(config: Config): Profile | null {
  const value = config["profile"] ?? null;
  if (value === null) {
    return null;
  }
  if (typeof value !== "object" || Array.isArray(value)) {
    throw wrong(
      l10n.t("“{0}” must be an object.", "profile"),
      example('{"workers": ["*Policy*"]}'),
    );
  }
  const profile = value as Config;
  const workers = textList(profile, "workers");
  if (workers.length === 0) {
    throw wrong(l10n.t("“profile” needs “workers”."), example('{"workers": ["*Policy*"]}'));
  }
  return {
    ...NEW_PROFILE,
    workers,
    ranks: ranks(profile),
    when: whenOf(profile),
    steps: steps(profile),
    seconds: seconds(profile),
    trace: text(profile, "trace") || NEW_PROFILE.trace,
    options: texts(profile, "options"),
    nsys: nsysOf(profile),
    output: text(profile, "output"),
  };
}

/** An attribute of one kind of recording implies that kind. */
function whenOf(profile: Config): Profile["when"] {
  const when = text(profile, "when");
  if (when === "") {
    return "steps" in profile ? "steps" : "seconds" in profile ? "seconds" : NEW_PROFILE.when;
  }
  if (!WHENS.some((other) => other === when)) {
    throw wrong(
      l10n.t("“when” can’t be “{0}”.", plain(when)),
      l10n.t("Use one of: {0}.", WHENS.join(", ")),
    );
  }
  return when as Profile["when"];
}

function steps(profile: Config): string {
  const written = text(profile, "steps");
  const meant = written === "" ? "" : stepsOf(written);
  if (meant === undefined) {
    throw wrong(l10n.t("“{0}” must be a range of steps.", "steps"), example('"3:5"'));
  }
  return meant;
}

function nsysOf(profile: Config): string {
  const named = text(profile, "nsys");
  if (!isNsysPath(named)) {
    throw wrong(
      l10n.t("“nsys” can’t be “{0}”.", plain(named)),
      l10n.t("Enter a full path or a name."),
    );
  }
  return named;
}

function seconds(profile: Config): number {
  const value = profile["seconds"] ?? NEW_PROFILE.seconds;
  if (typeof value !== "number" || !(value > 0)) {
    throw wrong(l10n.t("“{0}” must be a positive number.", "seconds"), example("10"));
  }
  return value;
}

/** A configuration of launch.json, which may contain any value. */
type Config = Readonly<Record<string, unknown>>;

function text(config: Config, name: string): string {
  const value = config[name] ?? "";
  if (typeof value !== "string") {
    throw wrong(l10n.t("“{0}” must be a string.", name), l10n.t("Put it in quotes."));
  }
  return value.trim();
}

function truth(config: Config, name: string): boolean {
  const value = config[name] ?? false;
  if (typeof value !== "boolean") {
    throw wrong(l10n.t("“{0}” must be true or false.", name), example("true"));
  }
  return value;
}

function textList(config: Config, name: string): readonly string[] {
  const value = config[name] ?? [];
  if (!Array.isArray(value) || !value.every((word) => typeof word === "string")) {
    throw wrong(l10n.t("“{0}” must be a list of strings.", name), example('["one", "two"]'));
  }
  return value;
}

function ranks(config: Config, name = "ranks"): readonly number[] | null {
  const value = config[name] ?? null;
  if (value === null) {
    return null;
  }
  if (!Array.isArray(value) || !value.every((rank) => Number.isInteger(rank) && rank >= 0)) {
    throw wrong(l10n.t("“{0}” must be a list of integers.", name), example("[0, 1]"));
  }
  return value as number[];
}

function texts(config: Config, name: string): Readonly<Record<string, string>> {
  const value = config[name] ?? {};
  const isTexts =
    typeof value === "object" && Object.values(value).every((entry) => typeof entry === "string");
  if (!isTexts || Array.isArray(value)) {
    throw wrong(l10n.t("“{0}” must be an object of strings.", name), example('{"NAME": "value"}'));
  }
  return value as Readonly<Record<string, string>>;
}

function example(value: string): string {
  return l10n.t("For example, {0}.", value);
}

function wrong(message: string, nextStep: string): EaglerayError {
  return new EaglerayError("wrong-launch", message, nextStep);
}
