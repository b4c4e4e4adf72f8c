/** The fields of the options page: their texts as typed, what is wrong with them, and how they depend on one another. */

import type { Profile, RunKind } from "../draft";
import { isNsysPath, secondsOf, stepsOf } from "../profile_options";
import { OPTION_NAMES, valueOf, type OptionInputs } from "../option_values";
import { RUN_OPTIONS } from "../run_options";
import { argsOf, patternsOf, ranksOf } from "../parse_input";

/** The fields as typed, so that an invalid one can be kept, and corrected. */
export interface OptionsForm extends OptionInputs {
  /** The file that the page was opened for; "" for a command. */
  readonly file: string;
  /** A file or the name of a module; ignored for a command, which is in `args`. */
  readonly path: string;
  readonly kind: RunKind;
  readonly args: string;
  readonly cwd: string;
  readonly python: string;
  /** NAME=value, one per line. */
  readonly env: string;
  readonly cluster: string;
  /** Whether a preset shortens the run; `preset` "" is the one that fits. */
  readonly shorten: boolean;
  readonly preset: string;
  /** The answers that differ from what the preset proposes, by question. */
  readonly answers: Readonly<Record<string, string>>;
  /** False for “Run Without Debugging”; it has no field. */
  readonly stops: boolean;
  readonly record: boolean;
  readonly recordWorkers: string;
  readonly recordRanks: string;
  readonly when: Profile["when"];
  readonly steps: string;
  readonly seconds: string;
  readonly trace: readonly string[];
  readonly nsys: string;
  readonly nsysOptions: string;
  readonly output: string;
}

/** A field that can have a problem; `answer.NAME` is the answer to a question of the preset, "" none of them. */
export type Field = keyof OptionsForm | "breakpoints" | "" | `answer.${string}`;

/** The inputs that the user can mistype; the page has a text for each. */
export type Mistake =
  | "openQuote"
  | "noCommand"
  | "noProgram"
  | "badRanks"
  | "badVariable"
  | "badNumber"
  | "noRecordWorkers"
  | "badSteps"
  | "badSeconds"
  | "noTrace"
  | "badNsys"
  | "badNsysOption";

const MISTAKES = {
  truth: undefined,
  number: "badNumber",
  patterns: undefined,
  ranks: "badRanks",
} as const;

/** The mistakes that need no other program to be found, at most one for a field, from top to bottom. */
export function mistakesOf(form: OptionsForm): ReadonlyMap<Field, Mistake> {
  const args = argsOf(form.args);
  const mistakes: (readonly [Field, Mistake | undefined])[] = [
    ["path", form.kind !== "command" && form.path.trim() === "" ? "noProgram" : undefined],
    ["args", args === undefined ? "openQuote" : isNoCommand(form, args) ? "noCommand" : undefined],
    ["env", variablesOf(form.env) === undefined ? "badVariable" : undefined],
    ...OPTION_NAMES.filter((name) => !(form.record && RUN_OPTIONS[name].stops)).map(
      (name) =>
        [
          name,
          valueOf(name, form) === undefined ? MISTAKES[RUN_OPTIONS[name].kind] : undefined,
        ] as const,
    ),
    ...(form.record ? recordMistakes(form) : []),
  ];
  return new Map(
    mistakes.flatMap(([field, mistake]) =>
      mistake === undefined ? [] : [[field, mistake] as const],
    ),
  );
}

function isNoCommand({ kind }: OptionsForm, args: readonly string[]): boolean {
  return kind === "command" && args.length === 0;
}

function recordMistakes(form: OptionsForm): (readonly [Field, Mistake | undefined])[] {
  const { when, steps, seconds } = form;
  return [
    ["recordWorkers", patternsOf(form.recordWorkers).length === 0 ? "noRecordWorkers" : undefined],
    ["steps", when === "steps" && stepsOf(steps) === undefined ? "badSteps" : undefined],
    ["seconds", when === "seconds" && secondsOf(seconds) === undefined ? "badSeconds" : undefined],
    ["recordRanks", ranksOf(form.recordRanks) === undefined ? "badRanks" : undefined],
    ["trace", form.trace.length === 0 ? "noTrace" : undefined],
    ["nsys", isNsysPath(form.nsys) ? undefined : "badNsys"],
    ["nsysOptions", nsysOptionsOf(form.nsysOptions) === undefined ? "badNsysOption" : undefined],
  ];
}

/** The variables of lines NAME=value; undefined where a line is none.  Empty lines are ignored. */
export function variablesOf(text: string): Record<string, string> | undefined {
  const entries: [string, string][] = [];
  for (const line of text.split("\n").filter((line) => line.trim() !== "")) {
    const match = /^\s*([A-Za-z_]\w*)=(.*)$/u.exec(line);
    const [, name = "", value = ""] = match ?? [];
    if (name === "") {
      return undefined;
    }
    entries.push([name, value]);
  }
  return Object.fromEntries(entries);
}

export function variablesText(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `${name}=${value}`)
    .join("\n");
}

/** "--sample=none --stats" as options of nsys by name; undefined for an invalid text. */
export function nsysOptionsOf(text: string): Record<string, string> | undefined {
  const options = argsOf(text)?.map((word) => /^-{1,2}([A-Za-z][\w-]*)(?:=(.*))?$/su.exec(word));
  if (options === undefined || options.includes(null)) {
    return undefined;
  }
  return Object.fromEntries(options.map((match) => [match?.[1] ?? "", match?.[2] ?? ""]));
}

/** The kinds as which the program of the page can be run; its own one is always among them. */
export function kindsOf({ file, path, kind, cwd }: OptionsForm): readonly RunKind[] {
  const name = file || path;
  const isPython = name.endsWith(".py") || kind === "module";
  const python: readonly RunKind[] = moduleOf(name, cwd) === "" ? [] : ["module"];
  const kinds: readonly RunKind[] =
    name === "" ? [] : isPython ? ["", "program", ...python] : ["", "script", "sbatch"];
  return [...new Set<RunKind>([...kinds, "command", kind])];
}

/** The form with another kind; a module goes by its name, a command takes nothing but its words. */
export function withKind(form: OptionsForm, kind: RunKind): OptionsForm {
  const module = moduleOf(form.file, form.cwd);
  if (kind === "module" && form.path === form.file && module !== "") {
    return { ...form, kind, path: module };
  }
  const isModule = module !== "" && form.path === module;
  return { ...form, kind, path: kind !== "module" && isModule ? form.file : form.path };
}

/** The name under which `python -m` finds a file below `folder`; "" for one elsewhere. */
export function moduleOf(path: string, folder: string): string {
  const start = `${folder}/`;
  return path.startsWith(start) && path.endsWith(".py")
    ? path.slice(start.length, -3).replaceAll("/", ".")
    : "";
}

/** The patterns with one more, or without it where it is there. */
export function withPattern(text: string, pattern: string): string {
  const patterns = patternsOf(text);
  const others = patterns.filter((other) => other !== pattern);
  return (others.length < patterns.length ? others : [...patterns, pattern]).join(", ");
}

export interface DiffLine {
  readonly mark: " " | "+" | "-";
  readonly text: string;
}

/** More lines than this are not compared one by one. */
const MAX_COMPARED = 1500;

/** The lines of both texts, those that are gone before those that came in their place. */
export function lineDiff(before: string, after: string): DiffLine[] {
  const old = linesOf(before);
  const now = linesOf(after);
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) {
    start += 1;
  }
  let end = 0;
  while (
    end < old.length - start &&
    end < now.length - start &&
    old[old.length - 1 - end] === now[now.length - 1 - end]
  ) {
    end += 1;
  }
  return [
    ...marked(" ", old.slice(0, start)),
    ...changedLines(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    ...marked(" ", old.slice(old.length - end)),
  ];
}

function linesOf(text: string): string[] {
  const lines = text.split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

function marked(mark: DiffLine["mark"], lines: readonly string[]): DiffLine[] {
  return lines.map((text) => ({ mark, text }));
}

/** By the longest common subsequence. */
function changedLines(old: readonly string[], now: readonly string[]): DiffLine[] {
  if (old.length > MAX_COMPARED || now.length > MAX_COMPARED) {
    return [...marked("-", old), ...marked("+", now)];
  }
  const width = now.length + 1;
  const lengths = new Uint16Array((old.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] =
        old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < now.length) {
    const gone = old[i];
    const came = now[j];
    if (gone !== undefined && gone === came) {
      lines.push({ mark: " ", text: gone });
      i += 1;
      j += 1;
    } else if (gone !== undefined && (came === undefined || at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ mark: "-", text: gone });
      i += 1;
    } else {
      lines.push({ mark: "+", text: came ?? "" });
      j += 1;
    }
  }
  return lines;
}

/** Changed lines with up to `context` lines around them; a number stands for lines that are left out. */
export function folded(lines: readonly DiffLine[], context = 2): readonly (DiffLine | number)[] {
  const isNear = lines.map((_, at) =>
    lines.slice(Math.max(0, at - context), at + context + 1).some(({ mark }) => mark !== " "),
  );
  const shown: (DiffLine | number)[] = [];
  for (const [at, line] of lines.entries()) {
    const last = shown.at(-1);
    if (isNear[at] === true) {
      shown.push(line);
    } else if (typeof last === "number") {
      shown[shown.length - 1] = last + 1;
    } else {
      shown.push(1);
    }
  }
  return shown;
}
