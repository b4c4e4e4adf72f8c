/** What a launch.json says of a run, as a draft. */

import { PLAIN, type Draft, type Kind } from "./draft";
import { profileOf } from "./launch_profile_model";
import { environment, ranks, text, truth, words, wrong, type Config } from "./launch_values_model";

/** The attributes of which exactly one says what is run. */
const SUBJECTS: Readonly<Record<string, Kind>> = {
  program: "program",
  module: "module",
  script: "script",
  sbatch: "sbatch",
};

/** Raises an error of the catalogue for a configuration that says nothing, too much, or another type of value. */
export function draftOfLaunch(config: Config, folder: string): Draft {
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
    profile: profileOf(config),
  };
}
