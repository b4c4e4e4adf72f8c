/** The sections of the page, from top to bottom. */

import { l10n } from "../../../page/frame/l10n";
import { OPTION_NAMES, type OptionName } from "../../option_values";
import { RUN_OPTIONS } from "../../run_options";
import { OPTION_TEXTS } from "./option_texts";
import { KINDS, OUTCOMES, recordNote, TRACES, WHENS } from "./names";
import type { PageFacts, PathField, OptionsSection } from "../options_messages";
import { kindsOf, withKind, withPattern, type OptionsForm } from "../options_model";

import {
  button,
  ProblemText,
  selectField,
  textField,
  tickField,
  type ChangeFields,
  type FieldNote,
  type Part,
  type TextName,
  type TruthName,
  type View,
} from "./controls";
import { element, type Child } from "../../../page/frame/elements";

/** The actions of the page's controls. */
export interface Acts {
  readonly change: ChangeFields;
  /** A change that depends on the fields as they are. */
  readonly changeBy: (change: (form: OptionsForm) => OptionsForm) => void;
  readonly browse: (field: PathField) => void;
  readonly send: (
    kind:
      | "showBreakpoints"
      | "managePresets"
      | "compose"
      | "saveLaunch"
      | "savePreset"
      | "showDiff"
      | "runChecks"
      | "showChecks",
  ) => void;
  readonly toggled: (section: OptionsSection, isOpen: boolean) => void;
}

export function programSection(acts: Acts): Part {
  const { change } = acts;
  const isCommand = ({ form }: View): boolean => form.kind === "command";
  const browse = (field: PathField, label: string): object => ({
    browse: {
      text: l10n.t("Browse…"),
      label: l10n.t("Browse for {0}", label),
      pressed: (): void => {
        acts.browse(field);
      },
    },
  });
  const path = textField(
    "path",
    {
      label: l10n.t("File or module"),
      isShown: (view) => !isCommand(view),
      ...browse("path", l10n.t("File or module")),
    },
    change,
  );
  path.root.classList.add("two-thirds");
  const args = textField(
    "args",
    {
      label: (view) => (isCommand(view) ? l10n.t("Command") : l10n.t("Arguments")),
      hint: l10n.t("Quoted as in a shell. Variables and globs are not expanded."),
      lines: 1,
    },
    change,
  );
  args.root.classList.add("wide");
  const kind = selectField(
    "kind",
    {
      label: l10n.t("Run as"),
      choices: ({ form }) => kindsOf(form).map((entry) => [entry, KINDS[entry]] as const),
    },
    (value) => {
      acts.changeBy((form) => withKind(form, value as OptionsForm["kind"]));
    },
  );
  const python = textField(
    "python",
    {
      label: l10n.t("Python"),
      placeholder: ({ facts }) => facts.python || "python",
      ...browse("python", l10n.t("Python")),
      note: (view) => pythonNote(view),
    },
    change,
  );
  const cwd = textField(
    "cwd",
    { label: l10n.t("Folder"), ...browse("cwd", l10n.t("Folder")) },
    change,
  );
  const cluster = selectField(
    "cluster",
    {
      label: l10n.t("Run on"),
      choices: ({ form, facts }) => [["", l10n.t("This machine")], ...clusterChoices(form, facts)],
    },
    (value) => {
      change({ cluster: value });
    },
  );
  const env = textField(
    "env",
    { label: l10n.t("Environment variables"), hint: l10n.t("One NAME=value per line."), lines: 1 },
    change,
  );
  env.root.classList.add("wide");
  const options = optionFields(change, (name) => !RUN_OPTIONS[name].stops);
  kind.root.classList.add("third");
  cluster.root.classList.add("third");
  const fields = [path, kind, args, python, cwd, cluster, ...options, env];
  return {
    root: element(
      "section",
      { "aria-labelledby": "program" },
      element("h2", { id: "program" }, l10n.t("Program")),
      element("div", { class: "grid" }, ...fields.map(({ root }) => root)),
    ),
    refresh: refreshAll(fields),
  };
}

/** The fields of the options that are declared for runs. */
function optionFields(
  change: ChangeFields,
  isShown: (name: OptionName) => boolean,
  isEnabled?: (view: View) => boolean,
): Part[] {
  return OPTION_NAMES.filter(isShown).map((name) => {
    const { label, hint, example } = OPTION_TEXTS[name];
    if (RUN_OPTIONS[name].kind === "truth") {
      return tickField(name as TruthName, label, change, isEnabled);
    }
    const texts = { label, hint, placeholder: (): string => example };
    const part = textField(name as TextName, { ...texts, ...(isEnabled && { isEnabled }) }, change);
    part.root.classList.toggle("two-thirds", isEnabled === undefined);
    return part;
  });
}

/** A job has the Python of its cluster; a problem of the field says more than this note. */
function pythonNote({ form, facts, problems }: View): FieldNote | undefined {
  const { interpreter } = facts;
  const isOfJob = form.kind === "sbatch" || form.kind === "job";
  if (isOfJob || problems.some(({ field }) => field === "python")) {
    return undefined;
  }
  return interpreter?.python === form.python.trim()
    ? interpreter
    : { text: l10n.t("Checking…"), state: "checking" };
}

/** The chosen one stays, though it may not be connected. */
function clusterChoices({ cluster }: OptionsForm, { clusters }: PageFacts): [string, string][] {
  const listed = clusters.map(({ id, name }): [string, string] => [id, name]);
  const isListed = cluster === "" || clusters.some(({ id }) => id === cluster);
  return isListed ? listed : [...listed, [cluster, cluster]];
}

function refreshAll(parts: readonly Part[]): (view: View) => void {
  return (view) => {
    for (const { refresh } of parts) {
      refresh(view);
    }
  };
}

/** A part that can be folded; `note` is beside its title. */
function foldable(
  section: OptionsSection,
  title: string,
  acts: Acts,
  note: (view: View) => string,
  parts: readonly Part[],
  children: readonly Child[],
): Part & { readonly root: HTMLDetailsElement } {
  const noted = element("span", { class: "note" });
  const root = element(
    "details",
    { id: section },
    element("summary", {}, element("h2", {}, title), noted),
    element("div", {}, ...children),
  );
  root.addEventListener("toggle", () => {
    acts.toggled(section, root.open);
  });
  const refreshParts = refreshAll(parts);
  return {
    root,
    refresh: (view) => {
      noted.textContent = note(view);
      refreshParts(view);
    },
  };
}

export function breakpointsSection(acts: Acts): Part & { readonly root: HTMLDetailsElement } {
  const { change } = acts;
  const isEnabled = ({ form }: View): boolean => !form.record;
  const isStop = (name: OptionName): boolean => RUN_OPTIONS[name].stops;
  const options = optionFields(change, isStop, isEnabled);
  const isTick = ({ root }: Part): boolean => root.classList.contains("tick");
  const ticks = options.filter(isTick);
  const texts = options.filter((part) => !isTick(part));
  const set = element("p", {});
  const recording = element(
    "p",
    { class: "caution" },
    l10n.t("Breakpoints are off while recording: a pause would be measured."),
  );
  const show = button(l10n.t("Show Breakpoints"), () => {
    acts.send("showBreakpoints");
  });
  const notes: Part = {
    root: set,
    refresh: ({ form, facts }) => {
      const { breakpoints } = facts;
      set.textContent =
        breakpoints.length === 0
          ? l10n.t("No breakpoints are set. Click in the editor's gutter to add one.")
          : breakpoints.join(", ");
      recording.hidden = !form.record;
    },
  };
  const count = ({ facts }: View): string => {
    const number = facts.breakpoints.length;
    return number === 0 ? l10n.t("none set") : l10n.t("{0} set", number);
  };
  return foldable(
    "breakpoints",
    l10n.t("Breakpoints"),
    acts,
    count,
    [notes, ...options],
    [
      recording,
      element("div", { class: "with-button" }, set, show),
      element("div", { class: "grid" }, ...texts.map(({ root }) => root)),
      ...ticks.map(({ root }) => root),
    ],
  );
}

export function shortenSection(acts: Acts): Part & { readonly root: HTMLDetailsElement } {
  const { change } = acts;
  const tick = tickField("shorten", l10n.t("Shorten this run"), change);
  const preset = selectField(
    "preset",
    {
      label: l10n.t("Preset"),
      choices: ({ form, facts }) => presetChoices(form, facts),
    },
    (value) => {
      change({ preset: value, answers: {} });
    },
  );
  const manage = button(l10n.t("Manage Presets…"), () => {
    acts.send("managePresets");
  });
  const check = button(l10n.t("Check Configuration"), () => {
    acts.send("compose");
  });
  check.setAttribute("aria-describedby", "compose-hint");
  const missing = element(
    "p",
    { class: "caution" },
    l10n.t("No known framework was found. Nothing is shortened."),
  );
  const questions = questionsPart(acts);
  const changes = changesPart();
  const details = element(
    "div",
    { class: "shortened" },
    element("div", { class: "grid" }, preset.root),
    missing,
    questions.root,
    changes.root,
    element("div", { class: "buttons" }, check, manage),
    element(
      "p",
      { class: "hint", id: "compose-hint" },
      l10n.t("Imports your program and starts nothing."),
    ),
  );
  const shown: Part = {
    root: details,
    refresh: ({ form, preview }) => {
      details.hidden = !form.shorten;
      missing.hidden = preview === undefined || preview.preset !== "";
      check.hidden = preview === undefined || preview.framework === "";
      changes.root.hidden = preview === undefined || preview.changes.length === 0;
    },
  };
  const note = ({ form, preview }: View): string =>
    form.shorten && preview !== undefined
      ? [preview.framework, tally(preview.changes)].filter((entry) => entry !== "").join(" · ")
      : "";
  return foldable(
    "shorten",
    l10n.t("Short test run"),
    acts,
    note,
    [tick, preset, questions, changes, shown],
    [
      tick.root,
      element(
        "p",
        { class: "hint" },
        l10n.t("A preset changes the arguments of the command, never your files."),
      ),
      details,
    ],
  );
}

function presetChoices(
  { preset }: OptionsForm,
  { presets }: PageFacts,
): (readonly [string, string])[] {
  const listed = presets.map(
    ({ name, title, isOwn }) => [name, isOwn ? l10n.t("{0} (yours)", title) : title] as const,
  );
  const isListed = preset === "" || presets.some(({ name }) => name === preset);
  return [
    ["", l10n.t("Auto-detect framework")],
    ...listed,
    ...(isListed ? [] : [[preset, preset] as const]),
  ];
}

type Changes = NonNullable<View["preview"]>["changes"];
type ChangeOutcome = Changes[number]["outcome"];

const APPLIED: ReadonlySet<ChangeOutcome> = new Set<ChangeOutcome>([
  "will apply",
  "set, effect not verified",
  "already so",
]);
/** Outcomes of the whole run, which aren't changes. */
const OF_RUN: ReadonlySet<ChangeOutcome> = new Set<ChangeOutcome>([
  "unknown version",
  "no framework",
]);

/** "8 of 9 changes apply". */
function tally(changes: Changes): string {
  const counted = changes.filter(({ outcome }) => !OF_RUN.has(outcome));
  const applied = counted.filter(({ outcome }) => APPLIED.has(outcome));
  return counted.length === 0
    ? ""
    : applied.length === counted.length
      ? l10n.t("{0} changes apply", applied.length)
      : l10n.t("{0} of {1} changes apply", applied.length, counted.length);
}

/** Each change with its outcome and the reason. */
function changesPart(): Part {
  const title = element("p", {});
  const list = element("ul", { class: "changes" });
  const root = element("div", {}, title, list);
  let drawn: Changes | undefined;
  return {
    root,
    refresh: ({ preview }) => {
      if (preview === undefined || preview.changes === drawn) {
        return;
      }
      drawn = preview.changes;
      title.textContent = tally(drawn);
      list.replaceChildren(
        ...drawn.map(({ request, outcome, setting, where, why }) => {
          const isApplied = APPLIED.has(outcome);
          return element(
            "li",
            { class: isApplied ? "applies" : "fails" },
            `${OUTCOMES[outcome]}: ${request} `,
            ...(setting || where ? [element("code", {}, setting || where)] : []),
            ...(why === "" ? [] : [element("div", { class: "hint" }, why)]),
          );
        }),
      );
    },
  };
}

/** The questions of the preset: ticks, choices and texts, drawn again where others are asked. */
function questionsPart(acts: Acts): Part {
  const root = element("div", { class: "questions" });
  let drawn = "";
  let refreshers: ((view: View) => void)[] = [];
  const answer = (id: string, value: string): void => {
    acts.changeBy((form) => ({ ...form, answers: { ...form.answers, [id]: value } }));
  };
  return {
    root,
    refresh: (view) => {
      const questions = view.preview?.questions ?? [];
      const key = JSON.stringify(questions.map(({ id, text, choices }) => [id, text, choices]));
      if (view.preview !== undefined && key !== drawn) {
        drawn = key;
        const parts = questions.map((question) => questionPart(question, answer));
        refreshers = parts.map(({ refresh }) => refresh);
        root.replaceChildren(...parts.map((part) => part.root));
      }
      for (const refresh of refreshers) {
        refresh(view);
      }
    },
  };
}

type Question = NonNullable<View["preview"]>["questions"][number];

function questionPart(
  { id, text, detail, choices }: Question,
  answer: (id: string, value: string) => void,
): Part {
  const name = `answer.${id}` as const;
  const isTick = choices.length === 2 && choices.includes("on") && choices.includes("off");
  const valueIn = ({ form, preview }: View): string =>
    form.answers[id] ?? preview?.questions.find((entry) => entry.id === id)?.value ?? "";
  const hint = detail === "" ? [] : [element("p", { class: "hint", id: `${name}-hint` }, detail)];
  if (isTick) {
    const input = element("input", { type: "checkbox", id: name });
    input.addEventListener("change", () => {
      answer(id, input.checked ? "on" : "off");
    });
    const problem = new ProblemText(name, input, detail !== "");
    return {
      root: element(
        "div",
        { class: "tick" },
        input,
        element("div", {}, element("label", { for: name }, text), ...hint, problem.root),
      ),
      refresh: (view) => {
        input.checked = valueIn(view) === "on";
        problem.refresh(view);
      },
    };
  }
  const input =
    choices.length > 0
      ? element(
          "select",
          { id: name },
          ...choices.map((choice) => element("option", { value: choice }, choice)),
        )
      : element("input", { type: "text", id: name, autocomplete: "off", spellcheck: "false" });
  input.addEventListener(choices.length > 0 ? "change" : "input", () => {
    answer(id, input.value);
  });
  const problem = new ProblemText(name, input, detail !== "");
  return {
    root: element(
      "div",
      { class: "field" },
      element("label", { for: name }, text),
      input,
      ...hint,
      problem.root,
    ),
    refresh: (view) => {
      const value = valueIn(view);
      if (input.value !== value) {
        input.value = value;
      }
      problem.refresh(view);
    },
  };
}

export function recordSection(acts: Acts): Part & { readonly root: HTMLDetailsElement } {
  const { change } = acts;
  const tick = tickField("record", l10n.t("Record with Nsight Systems"), change);
  const workers = textField(
    "recordWorkers",
    {
      label: l10n.t("Workers to record"),
      hint: l10n.t("Actor, class or module.class names, e.g. *Policy*, *vllm*."),
    },
    change,
  );
  workers.root.classList.add("wide");
  const classes = classesPart(acts);
  workers.root.append(classes.root);
  const when = selectField(
    "when",
    {
      label: l10n.t("When"),
      choices: () => Object.entries(WHENS),
    },
    (value) => {
      change({ when: value as OptionsForm["when"] });
    },
  );
  const steps = textField(
    "steps",
    {
      label: l10n.t("Steps"),
      hint: l10n.t("3:5 records steps 3 and 4."),
      isShown: ({ form }) => form.when === "steps",
    },
    change,
  );
  const seconds = textField(
    "seconds",
    {
      label: l10n.t("Seconds"),
      hint: l10n.t("From the start of each worker."),
      isShown: ({ form }) => form.when === "seconds",
    },
    change,
  );
  const ranks = textField(
    "recordRanks",
    {
      label: l10n.t("Ranks"),
      hint: l10n.t("For example 0, 2-3. Leave empty for all."),
      placeholder: () => l10n.t("all"),
    },
    change,
  );
  when.root.classList.add("third");
  steps.root.classList.add("third");
  seconds.root.classList.add("third");
  ranks.root.classList.add("third");
  const trace = tracePart(acts);
  const nsys = textField(
    "nsys",
    {
      label: ({ form }) =>
        form.cluster === "" ? l10n.t("Path of nsys") : l10n.t("nsys on the nodes"),
      hint: l10n.t("Leave empty to search for it."),
      browse: {
        text: l10n.t("Browse…"),
        label: l10n.t("Browse for {0}", l10n.t("Path of nsys")),
        pressed: () => {
          acts.browse("nsys");
        },
        // The dialog shows the files of this machine.
        isShown: ({ form }) => form.cluster === "",
      },
    },
    change,
  );
  const nsysPath = element("p", { class: "hint" });
  nsys.root.append(nsysPath);
  const more = textField(
    "nsysOptions",
    { label: l10n.t("More nsys options"), hint: l10n.t("For example --sample=none.") },
    change,
  );
  const output = textField(
    "output",
    {
      label: l10n.t("Report folder"),
      hint: l10n.t("Leave empty for eagleray-profiles."),
      browse: {
        text: l10n.t("Browse…"),
        label: l10n.t("Browse for {0}", l10n.t("Report folder")),
        pressed: () => {
          acts.browse("output");
        },
      },
    },
    change,
  );
  nsys.root.classList.add("third");
  more.root.classList.add("third");
  output.root.classList.add("third");
  // The steps of a recording are settings of the framework, with a preset among its changes.
  const changes = changesPart();
  changes.root.classList.add("wide");
  const fields = element(
    "div",
    { class: "grid" },
    ...[workers, when, steps, seconds, ranks, trace, nsys, more, output, changes].map(
      ({ root }) => root,
    ),
  );
  const shown: Part = {
    root: fields,
    refresh: ({ form, preview }) => {
      fields.hidden = !form.record;
      changes.root.hidden = form.shorten || preview === undefined || preview.changes.length === 0;
      const path = preview?.nsys ?? "";
      nsysPath.hidden = path === "";
      nsysPath.textContent = l10n.t("Found on this machine: {0}", path);
    },
  };
  const note = ({ form }: View): string => recordNote(form);
  return foldable(
    "record",
    l10n.t("Profile"),
    acts,
    note,
    [
      tick,
      workers,
      classes,
      when,
      steps,
      seconds,
      ranks,
      trace,
      nsys,
      more,
      output,
      changes,
      shown,
    ],
    [tick.root, fields],
  );
}

/** The known classes as buttons, which add a pattern and take it away. */
function classesPart(acts: Acts): Part {
  const list = element("ul", { class: "classes", "aria-label": l10n.t("Known classes") });
  let drawn = "";
  return {
    root: list,
    refresh: ({ facts }) => {
      list.hidden = facts.classes.length === 0;
      const key = JSON.stringify(facts.classes);
      if (key === drawn) {
        return;
      }
      drawn = key;
      const focused = (document.activeElement as HTMLElement | null)?.dataset["name"];
      const items = facts.classes.map(({ name, running, matched_by }) => {
        const count = running === 0 ? l10n.t("seen before") : l10n.t("{0} running", running);
        const made = button(
          `${name} · ${count}`,
          () => {
            const pattern = matched_by || name;
            acts.changeBy((form) => ({
              ...form,
              recordWorkers: withPattern(form.recordWorkers, pattern),
            }));
          },
          { "aria-pressed": String(matched_by !== ""), "data-name": name },
        );
        return element("li", {}, made);
      });
      list.replaceChildren(...items);
      if (focused !== undefined) {
        [...list.querySelectorAll("button")]
          .find(({ dataset }) => dataset["name"] === focused)
          ?.focus();
      }
    },
  };
}

/** A tick for each trace; another one that the user entered elsewhere stays. */
function tracePart(acts: Acts): Part {
  const ticks = element("div", { class: "traces" });
  const root = element(
    "fieldset",
    { class: "wide", id: "trace" },
    element("legend", {}, l10n.t("Trace")),
    ticks,
  );
  const problem = new ProblemText("trace", root, false);
  root.append(problem.root);
  let drawn = "";
  return {
    root,
    refresh: (view) => {
      const { trace } = view.form;
      const names = [...new Set([...Object.keys(TRACES), ...trace])];
      if (names.join() !== drawn) {
        drawn = names.join();
        ticks.replaceChildren(
          ...names.map((name) => {
            const id = `trace.${name}`;
            const input = element("input", { type: "checkbox", id, value: name });
            input.addEventListener("change", () => {
              acts.changeBy((form) => ({
                ...form,
                trace: input.checked
                  ? [...form.trace, name]
                  : form.trace.filter((entry) => entry !== name),
              }));
            });
            const text = [name, TRACES[name]].filter(Boolean).join(": ");
            return element("div", { class: "tick" }, input, element("label", { for: id }, text));
          }),
        );
      }
      for (const input of ticks.querySelectorAll("input")) {
        input.checked = trace.includes(input.value);
      }
      problem.refresh(view);
      // A group of ticks has no such state.
      root.removeAttribute("aria-invalid");
    },
  };
}
