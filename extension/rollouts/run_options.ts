/** How an agent gets its server, and the size and time limit of a wave: the last choice, and the questions that change it. */

import * as vscode from "vscode";

import type { App } from "../app";
import type { DebugAgent } from "./messages";

/** The key of the workspace's state under which the last choice is stored. */
const LAST = "eagleray.agentOptions";
const MOST_RUNS = 100_000;
/** The key under which the arguments of classes are stored, each by its target. */
const ARGUMENTS = "eagleray.agentArguments";

/** As the framework calls an agent: in its own process, or in processes of a pool. */
export type AgentMode = NonNullable<DebugAgent["mode"]>;

export interface RunOptions {
  readonly mode: AgentMode;
  readonly groups: number;
  readonly groupSize: number;
  /** The limit for each run of a wave, in seconds; 0 for none.  A run under the debugger has none. */
  readonly timeoutS: number;
}

const FIRST: RunOptions = { mode: "inline", groups: 64, groupSize: 8, timeoutS: 600 };

export function runOptions({ context }: App): RunOptions {
  return { ...FIRST, ...context.workspaceState.get<Partial<RunOptions>>(LAST) };
}

/** A JSON object, "" for none. */
export function classArguments({ context }: App, target: string): string {
  return context.workspaceState.get<Record<string, string>>(ARGUMENTS)?.[target] ?? "";
}

/** Asks for the arguments with which the class is constructed. */
export async function changeArguments(app: App, target: string): Promise<void> {
  const entered = await vscode.window.showInputBox({
    title: vscode.l10n.t("Arguments of the Class"),
    prompt: vscode.l10n.t("A JSON object; empty for none. `gconfig` is an object, too."),
    value: classArguments(app, target),
    validateInput: (text) =>
      isObject(text) ? undefined : vscode.l10n.t("Enter a JSON object, such as {0}.", '{"n": 1}'),
  });
  if (entered !== undefined && isObject(entered)) {
    const { workspaceState } = app.context;
    const stored = workspaceState.get<Record<string, string>>(ARGUMENTS);
    await workspaceState.update(ARGUMENTS, { ...stored, [target]: entered.trim() });
  }
}

function isObject(text: string): boolean {
  try {
    const value: unknown = text.trim() === "" ? {} : JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** "64 × 8". */
export function sizeText({ groups, groupSize }: RunOptions): string {
  return `${groups} × ${groupSize}`;
}

/** "64 × 8, inline, 600 s". */
export function waveOptionsText(options: RunOptions): string {
  return [sizeText(options), options.mode, limitText(options)].join(", ");
}

/** Asks how the agent gets its server. */
export async function changeMode(app: App): Promise<void> {
  const { mode: last } = runOptions(app);
  const rows = (["inline", "subproc"] as const).map((mode) => ({
    label: mode,
    description: mode === last ? vscode.l10n.t("last choice") : "",
    detail:
      mode === "inline"
        ? vscode.l10n.t("As arguments of `run`, in one process")
        : vscode.l10n.t("In the environment of separate processes"),
    mode,
  }));
  const title = vscode.l10n.t("How does the agent get the server?");
  const picked = await vscode.window.showQuickPick(rows, { title });
  if (picked !== undefined) {
    await store(app, { mode: picked.mode });
  }
}

/** The options of a wave, until the user leaves the list. */
export async function changeWaveOptions(app: App): Promise<void> {
  for (;;) {
    const options = runOptions(app);
    const rows = [
      {
        label: vscode.l10n.t("Groups × Runs of Each"),
        description: sizeText(options),
        change: () => changeSize(app, options),
      },
      {
        label: vscode.l10n.t("Server"),
        description: options.mode,
        change: () => changeMode(app),
      },
      {
        label: vscode.l10n.t("Time Limit of a Run"),
        description: limitText(options),
        change: () => changeLimit(app, options),
      },
      { label: vscode.l10n.t("$(check) Done"), description: "", change: undefined },
    ];
    const title = vscode.l10n.t("Options of the wave");
    const picked = await vscode.window.showQuickPick(rows, { title });
    if (picked?.change === undefined) {
      return;
    }
    await picked.change();
  }
}

async function changeSize(app: App, options: RunOptions): Promise<void> {
  const entered = await vscode.window.showInputBox({
    title: vscode.l10n.t("Groups × Runs of Each"),
    prompt: vscode.l10n.t("All runs are started at once."),
    value: sizeText(options),
    validateInput: (text) =>
      parsedSize(text) === undefined
        ? vscode.l10n.t("Enter two numbers, such as {0}.", sizeText(FIRST))
        : undefined,
  });
  const size = parsedSize(entered ?? "");
  if (size !== undefined) {
    await store(app, size);
  }
}

/** Reads "64 × 8", "64 x 8" or "64 8". */
function parsedSize(text: string): Pick<RunOptions, "groups" | "groupSize"> | undefined {
  const [, groups = 0, groupSize = 0] =
    /^\s*(\d{1,6})\s*[\s×x*]\s*(\d{1,6})\s*$/i.exec(text)?.map(Number) ?? [];
  const runs = groups * groupSize;
  return runs > 0 && runs <= MOST_RUNS ? { groups, groupSize } : undefined;
}

async function changeLimit(app: App, { timeoutS }: RunOptions): Promise<void> {
  const isSeconds = (text: string): boolean => /^\s*\d{1,6}\s*$/.test(text);
  const entered = await vscode.window.showInputBox({
    title: vscode.l10n.t("Time Limit of a Run"),
    prompt: vscode.l10n.t("Seconds, 0 for none"),
    value: String(timeoutS),
    validateInput: (text) => (isSeconds(text) ? undefined : vscode.l10n.t("Enter whole seconds.")),
  });
  if (entered !== undefined && isSeconds(entered)) {
    await store(app, { timeoutS: Number(entered) });
  }
}

function limitText({ timeoutS }: RunOptions): string {
  return timeoutS === 0 ? vscode.l10n.t("no time limit") : vscode.l10n.t("{0} s", timeoutS);
}

async function store(app: App, changes: Partial<RunOptions>): Promise<void> {
  await app.context.workspaceState.update(LAST, { ...runOptions(app), ...changes });
}
