/** The boxes for single choices of the form; each returns the draft, changed or unchanged. */

import * as vscode from "vscode";

import { plain } from "../../../common/texts";
import { NO_PRESET, type Draft, type Profile } from "../../runs/draft";
import {
  NEW_PROFILE,
  nsysProblem,
  secondsOf,
  stepsOf,
  traceOf,
  TRACES,
  WHENS,
  withProfile,
} from "../../runs/profile_options";
import type { PresetQuestion } from "../messages";
import {
  answered,
  answerTo,
  HERE,
  isTick,
  kindsFor,
  moduleOf,
  presetLabels,
  toggled,
  type FormField,
  type FormView,
  type ProfileField,
} from "./lines";
import { patternsOf, ranksOf, textOf, argsOf } from "./parse_input";
import { pickPatterns, type ClassPreview } from "./worker_patterns";

/** `preview` returns the classes that patterns match. */
export async function askChoice(
  about: FormField,
  draft: Draft,
  view: FormView,
  preview: ClassPreview,
): Promise<Draft> {
  switch (about.field) {
    case "start":
      return draft;
    case "breakOnFailure":
    case "children":
      return toggled(draft, about.field);
    case "kind":
      return await askKind(draft);
    case "cluster":
      return await askCluster(draft, view);
    case "preset":
      return await askPreset(draft, view);
    case "question":
      return await askQuestion(draft, about.question);
    case "args":
      return await askArguments(draft);
    case "workers":
      return await askWorkers(draft);
    case "ranks":
      return await askRanks(draft);
    default:
      return await askProfile(about.field, draft, preview);
  }
}

async function askKind(draft: Draft): Promise<Draft> {
  const items = [...kindsFor(draft)];
  const picked = await vscode.window.showQuickPick(items, { title: "Run it as what?" });
  if (picked === undefined) {
    return draft;
  }
  const module = picked.runAs === "module" ? moduleOf(draft.path, draft.cwd) : "";
  return { ...draft, kind: picked.runAs, path: module || draft.path };
}

async function askCluster(draft: Draft, { clusters }: FormView): Promise<Draft> {
  const items = [
    { label: plain(HERE), description: "", id: "" },
    ...clusters.clusters.map(({ id, name, sentence }) => ({
      label: plain(name),
      description: plain(sentence),
      id,
    })),
  ];
  const picked = await vscode.window.showQuickPick(items, { title: "Where does it run?" });
  return picked === undefined ? draft : { ...draft, cluster: picked.id };
}

async function askPreset(draft: Draft, { presets }: FormView): Promise<Draft> {
  const items = [
    { label: "None", description: "as it is", name: NO_PRESET },
    { label: "The one that fits", description: "found out by its framework", name: "" },
    ...presets.map((preset) => ({ ...presetLabels(preset), name: preset.name })),
  ];
  const title = "Shorten the run by which preset?";
  const picked = await vscode.window.showQuickPick(items, { title, matchOnDescription: true });
  return picked === undefined ? draft : { ...draft, preset: picked.name, answers: {} };
}

async function askQuestion(draft: Draft, question: PresetQuestion): Promise<Draft> {
  const now = answerTo(draft, question);
  if (isTick(question)) {
    return answered(draft, question, now === "on" ? "off" : "on");
  }
  const title = plain(question.text);
  const answer =
    question.choices.length > 0
      ? await vscode.window.showQuickPick([...question.choices], { title })
      : await vscode.window.showInputBox({ title, prompt: plain(question.detail), value: now });
  return answer === undefined ? draft : answered(draft, question, answer);
}

async function askArguments(draft: Draft): Promise<Draft> {
  const typed = await vscode.window.showInputBox({
    title: draft.path === "" ? "The command" : "Arguments",
    prompt: "Words as in a shell, with quotes; no variable and no pattern is filled in",
    value: textOf(draft.args),
    ignoreFocusOut: true,
    validateInput: (text) => (argsOf(text) === undefined ? "A quote is open." : undefined),
  });
  const args = typed === undefined ? undefined : argsOf(typed);
  return args === undefined ? draft : { ...draft, args: args };
}

async function askWorkers(draft: Draft): Promise<Draft> {
  const typed = await vscode.window.showInputBox({
    title: "Who stops",
    prompt: "Patterns of class, actor name or function, such as *Policy*, train_*; none: everybody",
    value: draft.workers.join(", "),
    ignoreFocusOut: true,
  });
  return typed === undefined ? draft : { ...draft, workers: patternsOf(typed) };
}

async function askRanks(draft: Draft): Promise<Draft> {
  const typed = await vscode.window.showInputBox({
    title: "Ranks that stop",
    prompt: "Such as 0 or 0, 2-3; none: all",
    value: (draft.ranks ?? []).join(", "),
    ignoreFocusOut: true,
    validateInput: (text) => (ranksOf(text) === undefined ? "Write numbers, or 2-5." : undefined),
  });
  const ranks = typed === undefined ? undefined : ranksOf(typed);
  return ranks === undefined ? draft : { ...draft, ranks };
}

async function askProfile(
  field: ProfileField,
  draft: Draft,
  preview: ClassPreview,
): Promise<Draft> {
  const profile = draft.profile ?? NEW_PROFILE;
  switch (field) {
    case "profile":
      return draft.profile === null
        ? await askProfiled(draft, NEW_PROFILE, preview)
        : { ...draft, profile: null };
    case "profiled":
      return await askProfiled(draft, profile, preview);
    case "profileWhen":
      return await askWhen(draft, profile);
    case "profileRanks":
      return await askProfileRanks(draft, profile);
    case "profileTrace":
      return await askTrace(draft, profile);
    case "profileNsys":
      return await askNsys(draft, profile);
    case "profileOutput":
      return await askOutput(draft, profile);
  }
}

async function askProfiled(
  draft: Draft,
  { workers }: Profile,
  preview: ClassPreview,
): Promise<Draft> {
  const chosen = await pickPatterns(workers, preview);
  return chosen === undefined ? draft : withProfile(draft, { workers: chosen });
}

async function askWhen(draft: Draft, profile: Profile): Promise<Draft> {
  const whens = Object.keys(WHENS) as Profile["when"][];
  const items = whens.map((when) => ({ label: WHENS[when], when }));
  const picked = await vscode.window.showQuickPick(items, { title: "When is it recorded?" });
  switch (picked?.when) {
    case undefined:
      return draft;
    case "steps":
      return await askSteps(draft, profile);
    case "seconds":
      return await askSeconds(draft, profile);
    default:
      return withProfile(draft, { when: picked?.when ?? profile.when });
  }
}

async function askSteps(draft: Draft, profile: Profile): Promise<Draft> {
  const typed = await vscode.window.showInputBox({
    title: "Which steps",
    prompt:
      "3:5 is steps 3 and 4. The program says where its steps begin, through its framework or torch.cuda.profiler",
    value: profile.steps,
    ignoreFocusOut: true,
    validateInput: (text) => (stepsOf(text) === undefined ? "Write 3, or 3:5." : undefined),
  });
  const steps = typed === undefined ? undefined : stepsOf(typed);
  return steps === undefined ? draft : withProfile(draft, { when: "steps", steps });
}

async function askSeconds(draft: Draft, profile: Profile): Promise<Draft> {
  const typed = await vscode.window.showInputBox({
    title: "How many seconds",
    prompt: "Counted from the start of each worker",
    value: String(profile.seconds),
    ignoreFocusOut: true,
    validateInput: (text) =>
      secondsOf(text) === undefined ? "Write a number of seconds." : undefined,
  });
  const seconds = typed === undefined ? undefined : secondsOf(typed);
  return seconds === undefined ? draft : withProfile(draft, { when: "seconds", seconds });
}

async function askProfileRanks(draft: Draft, profile: Profile): Promise<Draft> {
  const typed = await vscode.window.showInputBox({
    title: "Ranks that are profiled",
    prompt: "Such as 0 or 0, 2-3; none: all",
    value: (profile.ranks ?? []).join(", "),
    ignoreFocusOut: true,
    validateInput: (text) => (ranksOf(text) === undefined ? "Write numbers, or 2-5." : undefined),
  });
  const ranks = typed === undefined ? undefined : ranksOf(typed);
  return ranks === undefined ? draft : withProfile(draft, { ranks });
}

async function askTrace(draft: Draft, { trace }: Profile): Promise<Draft> {
  const now = trace.split(",").filter((name) => name !== "");
  const others = now.filter((name) => !(name in TRACES));
  const items = [...Object.keys(TRACES), ...others].map((name) => ({
    label: name,
    description: TRACES[name] ?? "",
    picked: now.includes(name),
  }));
  const title = "What is recorded?";
  const picked = await vscode.window.showQuickPick(items, { title, canPickMany: true });
  return picked === undefined || picked.length === 0
    ? draft
    : withProfile(draft, { trace: traceOf(picked.map(({ label }) => label)) });
}

async function askNsys(draft: Draft, { nsys }: Profile): Promise<Draft> {
  const typed = await vscode.window.showInputBox({
    title: "Where nsys is on the nodes",
    prompt: "The path of the program there; none: it is looked for on each node",
    placeHolder: "looked for on each node",
    value: nsys,
    ignoreFocusOut: true,
    validateInput: nsysProblem,
  });
  return typed === undefined ? draft : withProfile(draft, { nsys: typed.trim() });
}

async function askOutput(draft: Draft, { output }: Profile): Promise<Draft> {
  const typed = await vscode.window.showInputBox({
    title: "Where the reports are gathered",
    prompt: "A folder of this machine, in which each run gets its own; none: eagleray-profiles",
    value: output,
    ignoreFocusOut: true,
  });
  return typed === undefined ? draft : withProfile(draft, { output: typed.trim() });
}
