/** Turns the draft of a run into the fields of the options page and back, and into a configuration of launch.json. */

import { NO_PRESET, PLAIN, type Draft, type Profile, type RunKind } from "../draft";
import { NEW_PROFILE, secondsOf, stepsOf, traceOf } from "../profile_options";
import { inputsOf, setOptions, valuesOf } from "../option_values";
import { argsOf, patternsOf, ranksOf, textOf } from "../parse_input";
import { nsysOptionsOf, variablesOf, variablesText, type OptionsForm } from "./options_model";

/** `file`: the file that the page is for. */
export function formOf(draft: Draft, file = draft.path): OptionsForm {
  const profile = draft.profile ?? NEW_PROFILE;
  const isCommand = draft.path === "" || draft.kind === "command";
  const commandLine = isCommand && draft.path !== "" ? [draft.path, ...draft.args] : draft.args;
  return {
    file,
    path: draft.path,
    kind: isCommand ? "command" : draft.kind,
    args: textOf(commandLine),
    cwd: draft.cwd,
    python: draft.python,
    env: variablesText(draft.env),
    cluster: draft.cluster,
    ...inputsOf(draft),
    shorten: draft.preset !== NO_PRESET,
    preset: draft.preset === NO_PRESET ? "" : draft.preset,
    answers: draft.answers,
    stops: draft.stops,
    record: draft.profile !== null,
    recordWorkers: profile.workers.join(", "),
    recordRanks: (profile.ranks ?? []).join(", "),
    when: profile.when,
    steps: profile.steps,
    seconds: String(profile.seconds),
    trace: profile.trace.split(",").filter((name) => name !== ""),
    nsys: profile.nsys,
    nsysOptions: textOf(
      Object.entries(profile.options).map(([name, value]) =>
        value === "" ? `--${name}` : `--${name}=${value}`,
      ),
    ),
    output: profile.output,
  };
}

/** The draft of a form without mistakes; an invalid field counts as empty. */
export function draftOfForm(form: OptionsForm): Draft {
  return {
    ...PLAIN,
    path: form.kind === "command" ? "" : form.path.trim(),
    args: argsOf(form.args) ?? [],
    cwd: form.cwd.trim(),
    // The words of a command say what it is.
    kind: form.kind === "command" ? "" : form.kind,
    cluster: form.cluster,
    env: variablesOf(form.env) ?? {},
    ...valuesOf(form),
    preset: form.shorten ? form.preset : NO_PRESET,
    answers: form.shorten ? form.answers : {},
    python: form.python.trim(),
    stops: form.stops,
    profile: form.record ? profileOf(form) : null,
  };
}

function profileOf(form: OptionsForm): Profile {
  return {
    workers: patternsOf(form.recordWorkers),
    ranks: ranksOf(form.recordRanks) ?? null,
    when: form.when,
    steps: form.when === "steps" ? (stepsOf(form.steps) ?? "") : "",
    seconds: secondsOf(form.seconds) ?? NEW_PROFILE.seconds,
    trace: traceOf(form.trace),
    options: nsysOptionsOf(form.nsysOptions) ?? {},
    nsys: form.nsys.trim(),
    output: form.output.trim(),
  };
}

/** Kinds that are attributes of launch.json, which name what is run. */
const SUBJECTS: readonly RunKind[] = ["program", "module", "script", "sbatch"];

/** A configuration of launch.json that starts the same; what equals its default is left out. */
export function configurationOf(draft: Draft, name: string): Record<string, unknown> {
  const { path, args, profile } = draft;
  const what =
    path === ""
      ? { command: [...args] }
      : { [subjectOf(draft)]: path, ...(args.length > 0 && { args }) };
  return {
    type: "eagleray",
    request: "launch",
    name,
    ...what,
    cwd: draft.cwd,
    ...(Object.keys(draft.env).length > 0 && { env: draft.env }),
    ...(draft.python !== "" && { python: draft.python }),
    ...(draft.cluster !== "" && { cluster: draft.cluster }),
    ...setOptions(draft),
    // Without this attribute the setting decides.
    breakOnFailure: draft.breakOnFailure,
    ...(draft.preset !== NO_PRESET && { preset: draft.preset || "debug" }),
    ...(Object.keys(draft.answers).length > 0 && { answers: draft.answers }),
    ...(profile !== null && { profile: profileAttribute(profile) }),
  };
}

function subjectOf({ kind, path }: Draft): RunKind {
  if (SUBJECTS.includes(kind)) {
    return kind;
  }
  const isModule = /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/u.test(path) && !/\.(py|sh)$/u.test(path);
  return path.endsWith(".py") ? "program" : isModule ? "module" : "script";
}

function profileAttribute(profile: Profile): Record<string, unknown> {
  const { workers, ranks, when, steps, seconds, trace, options, nsys, output } = profile;
  return {
    workers,
    ...(ranks !== null && { ranks }),
    when,
    ...(when === "steps" && { steps }),
    ...(when === "seconds" && { seconds }),
    ...(trace !== NEW_PROFILE.trace && { trace }),
    ...(Object.keys(options).length > 0 && { options }),
    ...(nsys !== "" && { nsys }),
    ...(output !== "" && { output }),
  };
}
