/** The lines of the form: one for each choice, with its present value. */

import { dotted, plain } from "../../../common/texts";
import type { Clusters } from "../../clusters/messages";
import { NO_PRESET, type Draft, type Profile, type RunKind } from "../../runs/draft";
import { WHENS } from "../../runs/profile_options";
import type { PresetQuestion, PresetRow } from "../messages";
import { textOf } from "./parse_input";

/** Which choice about profiling a line of the form is. */
export type ProfileField =
  | "profile"
  | "profiled"
  | "profileWhen"
  | "profileRanks"
  | "profileTrace"
  | "profileNsys"
  | "profileOutput";

/** Which choice a line is about. */
export type FormField =
  | { readonly field: "start" | "args" | "kind" | "cluster" | "preset" }
  | { readonly field: "workers" | "ranks" | "breakOnFailure" | "children" }
  | { readonly field: ProfileField }
  | { readonly field: "question"; readonly question: PresetQuestion };

export interface FormLine {
  readonly label: string;
  readonly description: string;
  readonly detail: string;
  readonly icon: string;
  readonly about: FormField;
}

/** The input of the form besides the draft. */
export interface FormView {
  readonly clusters: Clusters;
  readonly presets: readonly PresetRow[];
  readonly questions: readonly PresetQuestion[];
}

export const HERE = "on this machine, as in a terminal";

const KINDS: Readonly<Record<RunKind, string>> = {
  "": "found out",
  program: "Python program",
  module: "Python module",
  script: "shell script",
  command: "command",
  sbatch: "SLURM batch script",
  job: "Ray job",
};

/** The missing input of a draft before it can be started. */
export function missingChoice(draft: Draft): "args" | "profiled" | undefined {
  if (commandOf(draft).length === 0) {
    return "args";
  }
  return draft.profile?.workers.length === 0 ? "profiled" : undefined;
}

/** The placeholder of the form: what Enter does, or which choice is missing. */
export function formHint(draft: Draft): string {
  switch (missingChoice(draft)) {
    case "args":
      return "Enter changes a line; once there is a command, the first line starts it";
    case "profiled":
      return "Enter changes a line; once it is said who is profiled, the first line starts";
    case undefined:
      return "Enter changes a line; the first one starts";
  }
}

function commandOf({ path, args }: Draft): string[] {
  return [path, ...args].filter((word) => word !== "");
}

/** The form from top to bottom; Enter on the first line starts, unless something is lacking. */
export function formLines(draft: Draft, view: FormView): FormLine[] {
  const command = commandOf(draft);
  const start = draft.preset === NO_PRESET ? "Start" : "Show What Changes, Then Start";
  return [
    ...(missingChoice(draft) !== undefined
      ? []
      : [line(start, plain(textOf(command)), "play", "start")]),
    ...programLines(draft, view),
    ...(draft.profile === null ? stopLines(draft) : []),
    ...profileLines(draft),
    ...view.questions.map((question) => questionLine(draft, question)),
  ];
}

function programLines(draft: Draft, { clusters, presets }: FormView): FormLine[] {
  const cluster = clusters.clusters.find(({ id }) => id === draft.cluster)?.name ?? draft.cluster;
  const preset = presets.find(({ name }) => name === draft.preset)?.title ?? draft.preset;
  const kind = KINDS[draft.kind];
  return [
    ...(draft.path === ""
      ? [line("Command", plain(textOf(draft.args)) || "type it here", "terminal", "args")]
      : [
          line("Arguments", plain(textOf(draft.args)) || "none", "symbol-string", "args"),
          line("Run As", kind, "file-code", "kind"),
        ]),
    line("Where", draft.cluster === "" ? HERE : plain(cluster), "server-environment", "cluster"),
    line("Preset", plain(preset) || "the one that fits", "beaker", "preset"),
  ];
}

function stopLines(draft: Draft): FormLine[] {
  const ranks = draft.ranks === null ? "all" : draft.ranks.join(", ");
  return [
    line("Who Stops", plain(draft.workers.join(", ")) || "everybody", "filter", "workers"),
    line("Ranks That Stop", ranks, "list-ordered", "ranks"),
    tick("Break on Failure", draft.breakOnFailure, "breakOnFailure"),
    tick("Child Processes Too", draft.children, "children"),
  ];
}

/** One line while nothing is profiled, else a line for each choice. */
function profileLines({ profile }: Draft): FormLine[] {
  const workers = profile === null ? "" : plain(profile.workers.join(", "));
  if (profile === null) {
    return [line("Profile with nsys", "off", "circle-large-outline", "profile")];
  }
  const ranks = profile.ranks === null ? "all" : profile.ranks.join(", ");
  return [
    line("Profile with nsys", "on", "check", "profile"),
    line("Profiled Workers", workers || "choose who", "filter", "profiled"),
    line("When", recordingTime(profile), "watch", "profileWhen"),
    line("Profiled Ranks", ranks, "list-ordered", "profileRanks"),
    line("Trace", plain(profile.trace), "pulse", "profileTrace"),
    line(
      "nsys on the Nodes",
      plain(profile.nsys) || "looked for on each node",
      "tools",
      "profileNsys",
    ),
    line("Output Folder", plain(profile.output) || DEFAULT_OUTPUT, "folder", "profileOutput"),
  ];
}

const DEFAULT_OUTPUT = "eagleray-profiles, a folder for each run";

/** "steps 3:5", "10 s from the start of each worker". */
function recordingTime({ when, steps, seconds }: Profile): string {
  if (when === "steps") {
    return `steps ${plain(steps)}`;
  }
  return when === "seconds" ? `${seconds} s from the start of each worker` : WHENS[when];
}

function line(
  label: string,
  description: string,
  icon: string,
  field: Exclude<FormField["field"], "question">,
): FormLine {
  return { label, description, detail: "", icon, about: { field } };
}

function tick(label: string, on: boolean, field: "breakOnFailure" | "children"): FormLine {
  return line(label, on ? "on" : "off", on ? "check" : "circle-large-outline", field);
}

function questionLine(draft: Draft, question: PresetQuestion): FormLine {
  const answer = answerTo(draft, question);
  const icon = answer === "on" ? "check" : "circle-large-outline";
  return {
    label: plain(question.text),
    description: plain(answer) || "nothing",
    detail: plain(question.detail, 300),
    icon: isTick(question) ? icon : "edit",
    about: { field: "question", question },
  };
}

export function answerTo(draft: Draft, { id, value }: PresetQuestion): string {
  return draft.answers[id] ?? value;
}

/** Whether a question is answered by a tick. */
export function isTick({ choices }: PresetQuestion): boolean {
  return choices.length === 2 && choices.includes("on") && choices.includes("off");
}

/** The kinds as which the file of a draft can be run. */
export function kindsFor({
  path,
  cwd,
}: Draft): readonly { readonly runAs: RunKind; readonly label: string }[] {
  const module: readonly RunKind[] = moduleOf(path, cwd) === "" ? [] : ["module"];
  const python: readonly RunKind[] = ["", "program", ...module];
  const kinds: readonly RunKind[] = path.endsWith(".py") ? python : ["", "script", "sbatch"];
  return kinds.map((kind) => ({ runAs: kind, label: KINDS[kind] }));
}

/** The name under which `python -m` finds a file below `folder`; "" for one elsewhere. */
export function moduleOf(path: string, folder: string): string {
  const start = `${folder}/`;
  return path.startsWith(start) && path.endsWith(".py")
    ? path.slice(start.length, -3).replaceAll("/", ".")
    : "";
}

/** A draft after a tick was set or taken away. */
export function toggled(draft: Draft, field: "breakOnFailure" | "children"): Draft {
  return { ...draft, [field]: !draft[field] };
}

export function answered(draft: Draft, { id }: PresetQuestion, answer: string): Draft {
  return { ...draft, answers: { ...draft.answers, [id]: answer } };
}

/** How a preset is offered. */
export function presetLabels(preset: PresetRow): { label: string; description: string } {
  const own = preset.own ? "yours" : "";
  return { label: plain(preset.title), description: dotted(plain(preset.framework), own) };
}
