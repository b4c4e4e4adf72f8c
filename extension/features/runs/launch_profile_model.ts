/** What a launch.json says of profiling: `"profile": { "workers": ["*Policy*"], "when": "seconds", "seconds": 10 }`. */

import { ranks, text, words, wrong, type Config } from "./launch_values_model";
import type { Profile } from "./messages";
import { NEW_PROFILE, nsysProblem, stepsOf, WHENS } from "./profile_options";

/** null where nothing is said of it; raises an error of the catalogue for what cannot be meant. */
export function profileOf(config: Config): Profile | null {
  const value = config["profile"] ?? null;
  if (value === null) {
    return null;
  }
  if (typeof value !== "object" || Array.isArray(value)) {
    throw wrong("“profile” of the configuration is no object.", 'Write {"workers": ["*Policy*"]}.');
  }
  const said = value as Config;
  const workers = words(said, "workers");
  if (workers.length === 0) {
    throw wrong("“profile” names no workers.", 'Write {"workers": ["*Policy*"]}.');
  }
  return {
    ...NEW_PROFILE,
    workers,
    ranks: ranks(said),
    when: whenOf(said),
    steps: steps(said),
    seconds: seconds(said),
    trace: text(said, "trace") || NEW_PROFILE.trace,
    nsys: nsysOf(said),
    output: text(said, "output"),
  };
}

/** What is named says it as well. */
function whenOf(said: Config): Profile["when"] {
  const when = text(said, "when");
  if (when === "") {
    return "steps" in said ? "steps" : "seconds" in said ? "seconds" : NEW_PROFILE.when;
  }
  if (!(when in WHENS)) {
    throw wrong(
      `“when” of “profile” is ${when}.`,
      `Write one of ${Object.keys(WHENS).join(", ")}.`,
    );
  }
  return when as Profile["when"];
}

function steps(said: Config): string {
  const written = text(said, "steps");
  const meant = written === "" ? "" : stepsOf(written);
  if (meant === undefined) {
    throw wrong("“steps” of “profile” names no steps.", 'Write "3:5".');
  }
  return meant;
}

function nsysOf(said: Config): string {
  const named = text(said, "nsys");
  const problem = nsysProblem(named);
  if (problem !== "") {
    throw wrong(`“nsys” of “profile” is ${named}.`, problem);
  }
  return named;
}

function seconds(said: Config): number {
  const value = said["seconds"] ?? NEW_PROFILE.seconds;
  if (typeof value !== "number" || !(value > 0)) {
    throw wrong("“seconds” of “profile” is no number of seconds.", "Write 10.");
  }
  return value;
}
