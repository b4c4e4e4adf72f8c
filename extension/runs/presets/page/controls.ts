/** The fields of the page: each is labelled, shows its problem below it, and tells screen readers of it. */

import { l10n } from "../../../page/frame/l10n";
import type { PageFacts, PagePreview, PageProblem, PathField } from "../options_messages";
import type { Field, OptionsForm } from "../options_model";

import { element, type Child } from "../../../page/frame/elements";

/** All that the page shows. */
export interface View {
  readonly form: OptionsForm;
  readonly facts: PageFacts;
  readonly problems: readonly PageProblem[];
  /** The last one; undefined until the fields could be prepared. */
  readonly preview: PagePreview | undefined;
  /** The preview is of fields that have changed since and can't be prepared. */
  readonly isStale: boolean;
  readonly isChecking: boolean;
}

/** A part of the page, which is redrawn after each change. */
export interface Part {
  readonly root: HTMLElement;
  readonly refresh: (view: View) => void;
}

export type ChangeFields = (changes: Partial<OptionsForm>) => void;

export type TextName = {
  [K in keyof OptionsForm]: OptionsForm[K] extends string ? K : never;
}[keyof OptionsForm];
export type TruthName = {
  [K in keyof OptionsForm]: OptionsForm[K] extends boolean ? K : never;
}[keyof OptionsForm];

interface TextOptions {
  readonly label: string | ((view: View) => string);
  readonly hint?: string;
  readonly lines?: number;
  /** Shown in an empty field. */
  readonly placeholder?: (view: View) => string;
  readonly isShown?: (view: View) => boolean;
  readonly isEnabled?: (view: View) => boolean;
  readonly browse?: {
    readonly text: string;
    readonly label: string;
    readonly pressed: () => void;
    readonly isShown?: (view: View) => boolean;
  };
  /** Beside the label: what is known of the value. */
  readonly note?: (view: View) => FieldNote | undefined;
}

export interface FieldNote {
  readonly text: string;
  readonly state: "ok" | "warning" | "error" | "checking";
}

export function textField(name: TextName, options: TextOptions, change: ChangeFields): Part {
  const { hint, lines, browse } = options;
  const attributes = { id: name, spellcheck: "false", autocomplete: "off", name };
  const input =
    lines === undefined
      ? element("input", { ...attributes, type: "text" })
      : element("textarea", { ...attributes, rows: String(lines) });
  const label = element("label", { for: name });
  const note = element("span", { id: `${name}-note`, class: "about" });
  const notes = options.note === undefined ? [] : [note];
  const problem = new ProblemText(name, input, hint !== undefined, notes);
  input.addEventListener("input", () => {
    change({ [name]: input.value });
  });
  const row: Child[] = [input];
  const browsing = browse && button(browse.text, browse.pressed, { "aria-label": browse.label });
  if (browsing !== undefined) {
    row.push(browsing);
  }
  const root = element(
    "div",
    { class: "field" },
    element("div", { class: "heading" }, label, ...notes),
    element("div", { class: "row" }, ...row),
    ...(hint === undefined ? [] : [element("p", { class: "hint", id: `${name}-hint` }, hint)]),
    problem.root,
  );
  return {
    root,
    refresh: (view) => {
      label.textContent = typeof options.label === "string" ? options.label : options.label(view);
      input.placeholder = options.placeholder?.(view) ?? "";
      root.hidden = !(options.isShown?.(view) ?? true);
      input.disabled = !(options.isEnabled?.(view) ?? true);
      setValue(input, view.form[name]);
      if (browsing !== undefined) {
        browsing.hidden = !(browse?.isShown?.(view) ?? true);
      }
      showNote(note, options.note?.(view));
      problem.refresh(view);
    },
  };
}

function showNote(note: HTMLElement, shown: FieldNote | undefined): void {
  note.hidden = shown === undefined;
  note.dataset["state"] = shown?.state ?? "";
  if (note.textContent !== (shown?.text ?? "")) {
    note.textContent = shown?.text ?? "";
  }
}

/** A text is set only where it differs, which would move the cursor. */
function setValue(input: HTMLInputElement | HTMLTextAreaElement, value: string): void {
  if (input.value !== value) {
    input.value = value;
  }
}

interface SelectOptions {
  readonly label: string;
  readonly choices: (view: View) => readonly (readonly [value: string, text: string])[];
  readonly isShown?: (view: View) => boolean;
}

export function selectField(
  name: TextName,
  options: SelectOptions,
  chosen: (value: string) => void,
): Part {
  const select = element("select", { id: name, name });
  const problem = new ProblemText(name, select, false);
  let drawn = "";
  select.addEventListener("change", () => {
    chosen(select.value);
  });
  const root = element(
    "div",
    { class: "field" },
    element("label", { for: name }, options.label),
    select,
    problem.root,
  );
  return {
    root,
    refresh: (view) => {
      const choices = options.choices(view);
      const key = JSON.stringify(choices);
      if (key !== drawn) {
        drawn = key;
        select.replaceChildren(
          ...choices.map(([value, text]) => element("option", { value }, text)),
        );
      }
      select.value = view.form[name];
      root.hidden = !(options.isShown?.(view) ?? true);
      problem.refresh(view);
    },
  };
}

export function tickField(
  name: TruthName,
  text: string,
  change: ChangeFields,
  isEnabled: (view: View) => boolean = () => true,
): Part {
  // A section may have the name of its tick.
  const id = `${name}-tick`;
  const input = element("input", { type: "checkbox", id, name });
  input.addEventListener("change", () => {
    change({ [name]: input.checked });
  });
  return {
    root: element("div", { class: "tick" }, input, element("label", { for: id }, text)),
    refresh: (view) => {
      input.checked = view.form[name];
      input.disabled = !isEnabled(view);
    },
  };
}

export function button(
  text: string,
  pressed: () => void,
  attributes: Readonly<Record<string, string>> = {},
): HTMLButtonElement {
  const made = element("button", { type: "button", class: "secondary", ...attributes }, text);
  made.addEventListener("click", pressed);
  return made;
}

/** The problem below a field; a screen reader reads it with the field. */
export class ProblemText {
  readonly root: HTMLElement;

  constructor(
    private readonly field: Field,
    private readonly control: HTMLElement,
    private readonly hasHint: boolean,
    private readonly notes: readonly HTMLElement[] = [],
  ) {
    this.root = element("p", { class: "problem", id: `${control.id}-problem` });
    this.root.hidden = true;
  }

  refresh({ problems }: View): void {
    const own = problems.filter(({ field }) => field === this.field);
    const problem = own.find(({ blocks }) => blocks) ?? own[0];
    const blocks = problem?.blocks === true;
    this.root.hidden = problem === undefined;
    this.root.classList.toggle("warning", !blocks);
    const text =
      problem === undefined ? "" : blocks ? problem.text : l10n.t("Warning: {0}", problem.text);
    if (this.root.textContent !== text) {
      this.root.textContent = text;
    }
    this.control.setAttribute("aria-invalid", String(blocks));
    const describing = [
      ...this.notes.filter(({ hidden }) => !hidden).map(({ id }) => id),
      ...(this.hasHint ? [`${this.control.id}-hint`] : []),
      ...(problem === undefined ? [] : [this.root.id]),
    ];
    if (describing.length > 0) {
      this.control.setAttribute("aria-describedby", describing.join(" "));
    } else {
      this.control.removeAttribute("aria-describedby");
    }
  }
}

/** The message of a button for a file or folder. */
export type Browse = (field: PathField) => void;
