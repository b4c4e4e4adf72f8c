/** What a launch.json says of a run, as a draft. */

import { EaglerayError } from "../../common/errors";
import { PLAIN, type Draft, type Kind } from "./draft";

/** The attributes of which exactly one says what is run. */
const SUBJECTS: Readonly<Record<string, Kind>> = {
  program: "program",
  module: "module",
  script: "script",
  sbatch: "sbatch",
};

/** Raises an error of the catalogue for a configuration that says nothing, too much, or another type of value. */
export function draftOfLaunch(config: Readonly<Record<string, unknown>>, folder: string): Draft {
  const named = [...Object.keys(SUBJECTS), "command"].filter((name) => name in config);
  const [subject] = named;
  if (subject === undefined || named.length > 1) {
    throw wrong(
      `The configuration names ${named.length === 0 ? "nothing to run" : named.join(" and ")}.`,
      "Give one of “program”, “module”, “script”, “sbatch” and “command”.",
    );
  }
  const isCommand = subject === "command";
  const rest = words(config, "args");
  return {
    ...PLAIN,
    path: isCommand ? "" : text(config, subject),
    args: isCommand ? [...words(config, subject), ...rest] : rest,
    kind: SUBJECTS[subject] ?? "command",
    cwd: text(config, "cwd") || folder,
    cluster: text(config, "cluster"),
    python: text(config, "python"),
    env: environment(config),
    workers: words(config, "workers"),
    ranks: ranks(config),
    breakOnFailure: truth(config, "breakOnFailure"),
    children: truth(config, "children"),
    preset: text(config, "preset") || PLAIN.preset,
    stops: !truth(config, "noDebug"),
  };
}

type Config = Readonly<Record<string, unknown>>;

function text(config: Config, name: string): string {
  const value = config[name] ?? "";
  if (typeof value !== "string") {
    throw wrong(`“${name}” of the configuration is no text.`, "Write it in quotes.");
  }
  return value.trim();
}

function truth(config: Config, name: string): boolean {
  const value = config[name] ?? false;
  if (typeof value !== "boolean") {
    throw wrong(`“${name}” of the configuration is neither true nor false.`, "Write one of them.");
  }
  return value;
}

function words(config: Config, name: string): readonly string[] {
  const value = config[name] ?? [];
  if (!Array.isArray(value) || !value.every((word) => typeof word === "string")) {
    throw wrong(`“${name}” of the configuration is no list of texts.`, 'Write ["one", "two"].');
  }
  return value;
}

function ranks(config: Config): readonly number[] | null {
  const value = config["ranks"] ?? null;
  if (value === null) {
    return null;
  }
  if (!Array.isArray(value) || !value.every((rank) => Number.isInteger(rank) && rank >= 0)) {
    throw wrong("“ranks” of the configuration is no list of ranks.", "Write [0, 1].");
  }
  return value as number[];
}

function environment(config: Config): Readonly<Record<string, string>> {
  const value = config["env"] ?? {};
  const isTexts =
    typeof value === "object" && Object.values(value).every((one) => typeof one === "string");
  if (!isTexts || Array.isArray(value)) {
    throw wrong("“env” of the configuration is no list of variables.", 'Write {"NAME": "value"}.');
  }
  return value as Readonly<Record<string, string>>;
}

function wrong(message: string, nextStep: string): EaglerayError {
  return new EaglerayError("wrong-launch", message, nextStep);
}
