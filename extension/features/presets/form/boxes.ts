/** The boxes in which single choices of the form are made; each gives the draft back, changed or as it was. */

import * as vscode from "vscode";

import { plain } from "../../../common/texts";
import { NO_PRESET, type Draft } from "../../runs/draft";
import type { PresetQuestion } from "../messages";
import {
  answered,
  answerTo,
  HERE,
  isTick,
  kindsFor,
  moduleOf,
  presetWords,
  toggled,
  type Field,
  type FormView,
} from "./lines";
import { patternsOf, ranksOf, textOf, wordsOf } from "./parse_input";
import { askProfile } from "./profile_boxes";
import type { Preview } from "./worker_patterns";

/** `preview` says which workers patterns match. */
export async function askChoice(
  about: Field,
  draft: Draft,
  view: FormView,
  preview: Preview,
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
    ...presets.map((preset) => ({ ...presetWords(preset), name: preset.name })),
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
    validateInput: (text) => (wordsOf(text) === undefined ? "A quote is open." : undefined),
  });
  const words = typed === undefined ? undefined : wordsOf(typed);
  return words === undefined ? draft : { ...draft, args: words };
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
