/** The boxes in which the choices about profiling are made; each gives the draft back, changed or as it was. */

import * as vscode from "vscode";

import type { Draft } from "../../runs/draft";
import type { Profile } from "../../runs/messages";
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
import type { ProfileField } from "./lines";
import { ranksOf } from "./parse_input";
import { pickPatterns, type Preview } from "./worker_patterns";

export async function askProfile(
  field: ProfileField,
  draft: Draft,
  preview: Preview,
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
      return await askRanks(draft, profile);
    case "profileTrace":
      return await askTrace(draft, profile);
    case "profileNsys":
      return await askNsys(draft, profile);
    case "profileOutput":
      return await askOutput(draft, profile);
  }
}

async function askProfiled(draft: Draft, { workers }: Profile, preview: Preview): Promise<Draft> {
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

async function askRanks(draft: Draft, profile: Profile): Promise<Draft> {
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
