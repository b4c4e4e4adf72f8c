/** The page “Run options”: keeps the fields, has them checked while they are typed, and starts the run. */

import { l10n } from "../../../page/frame/l10n";
import { MISTAKES } from "./names";
import type {
  FormAction,
  PageFix,
  PageProblem,
  OptionsSection,
  ToOptionsPage,
} from "../options_messages";
import { mistakesOf, type Field, type OptionsForm } from "../options_model";
import { checksLine } from "./checks";
import { commandSection, spokenCommand } from "./command";
import { button, type Part, type View } from "./controls";
import { onMessage, openSections, post, saveState, scrollOffset } from "./editor";
import { announce } from "../../../page/frame/announcements";
import { page } from "../../../page/frame/editor";
import { element } from "../../../page/frame/elements";
import { fixSection } from "./fix";
import "./page.css";
import {
  breakpointsSection,
  programSection,
  recordSection,
  shortenSection,
  type Acts,
} from "./sections";

/** A check starts after a pause in typing of this length. */
const DEBOUNCE_MS = 250;

let shown: OptionsContent | undefined;

class OptionsContent {
  private readonly parts: readonly Part[];
  private readonly folds: ReadonlyMap<OptionsSection, HTMLDetailsElement>;
  private readonly title = element("h1", { id: "title" });
  private readonly status = element("p", { id: "status" });
  /** The text for a screen reader once typed text was checked: the status changes with each key. */
  private readonly spoken = element("p", { id: "spoken", class: "unseen", role: "status" });
  private readonly composed = element("div", { role: "status" });
  private readonly startButton: HTMLButtonElement;
  /** Fields that the user has changed, or tried to start with: only their mistakes are shown. */
  private readonly touched = new Set<Field>();
  private problems: readonly PageProblem[] = [];
  private number = 0;
  private timer: number | undefined;
  private isStarting = false;
  private question = "";
  private view: View;

  constructor(
    { form, facts, fix }: ToOptionsPage & { readonly kind: "content" },
    open: readonly OptionsSection[],
  ) {
    this.view = {
      form,
      facts,
      problems: [],
      preview: undefined,
      isChecking: true,
      isStale: false,
    };
    const acts: Acts = {
      change: (changes) => {
        this.change({ ...this.view.form, ...changes });
      },
      changeBy: (change) => {
        this.change(change(this.view.form));
      },
      browse: (field) => {
        post({ kind: "browse", field, form: this.view.form });
      },
      send: (kind) => {
        if (kind === "showBreakpoints" || kind === "managePresets" || kind === "showChecks") {
          post({ kind });
        } else {
          this.send(kind);
        }
      },
      toggled: () => {
        this.save();
      },
    };
    const breakpoints = breakpointsSection(acts);
    const shorten = shortenSection(acts);
    const record = recordSection(acts);
    this.folds = new Map([
      ["breakpoints", breakpoints.root],
      ["shorten", shorten.root],
      ["record", record.root],
    ]);
    for (const section of open) {
      this.fold(section).open = true;
    }
    this.fold("shorten").append(this.composed);
    const fixed = fix === null ? [] : [this.fixed(fix, acts)];
    this.parts = [
      ...fixed,
      programSection(acts),
      breakpoints,
      shorten,
      record,
      commandSection(acts),
      checksLine(acts),
    ];
    const isMac = navigator.userAgent.includes("Mac");
    this.startButton = button(
      l10n.t("Start"),
      () => {
        this.start();
      },
      {
        class: "primary",
        title: isMac ? l10n.t("⌘Enter") : l10n.t("Ctrl+Enter"),
        "aria-keyshortcuts": isMac ? "Meta+Enter" : "Control+Enter",
      },
    );
    const root = element(
      "form",
      { "aria-labelledby": "title" },
      this.title,
      ...this.parts.map((part) => part.root),
      element(
        "div",
        { class: "actions" },
        this.startButton,
        button(l10n.t("Save to launch.json"), () => {
          this.sendChecked("saveLaunch");
        }),
        button(l10n.t("Save as Preset…"), () => {
          this.sendChecked("savePreset");
        }),
        this.status,
        this.spoken,
      ),
    );
    root.addEventListener("submit", (event) => {
      event.preventDefault();
    });
    page.replaceChildren(root);
    this.refresh();
    this.send("check");
  }

  private fixed(fix: PageFix, acts: Acts): Part {
    const part = fixSection(acts, fix, () => {
      part.root.hidden = true;
      announce(l10n.t("The fix was undone."));
      document.getElementById("args")?.focus();
    });
    return part;
  }

  take(message: ToOptionsPage): void {
    switch (message.kind) {
      case "facts":
        this.show({ facts: message.facts });
        break;
      case "checked":
        if (message.number === this.number) {
          this.problems = message.problems;
          // The last valid start is shown until a new one arrives.
          const preview = message.preview ?? this.view.preview;
          this.show({ preview, isChecking: false, isStale: message.preview === null });
        }
        break;
      case "chosen":
        this.change({ ...this.view.form, [message.field]: message.path });
        break;
      case "composed":
        this.composed.replaceChildren(...this.composedTable(message.rows));
        break;
      case "notComposed":
        this.composed.replaceChildren(element("p", { class: "problem" }, message.reason));
        break;
      case "recheck":
        this.send("check");
        break;
      case "starting":
        this.isStarting = message.isOn;
        this.question = message.question;
        this.refresh();
        break;
      default:
        break;
    }
  }

  /** Ctrl+Enter, or the button: a problem is shown instead, with the focus in its field. */
  start(): void {
    const first = this.firstProblem();
    if (first !== undefined) {
      this.focusOn(first.field);
    } else if (!this.isStarting) {
      this.send("start");
    }
  }

  private sendChecked(kind: "saveLaunch" | "savePreset"): void {
    const first = this.firstProblem();
    if (first === undefined) {
      this.send(kind);
    } else {
      this.focusOn(first.field);
    }
  }

  /** The first one that prevents the start; from now on all are shown. */
  private firstProblem(): PageProblem | undefined {
    for (const field of mistakesOf(this.view.form).keys()) {
      this.touched.add(field);
    }
    this.refresh();
    return this.view.problems.find(({ blocks }) => blocks);
  }

  private focusOn(field: Field): void {
    const control = document.getElementById(field);
    const fold = control?.closest("details") ?? undefined;
    if (fold !== undefined) {
      fold.open = true;
    }
    const input = control?.matches("fieldset") === true ? control.querySelector("input") : control;
    input?.focus();
  }

  private change(form: OptionsForm): void {
    const before = this.view.form;
    for (const name of Object.keys(form) as (keyof OptionsForm)[]) {
      if (form[name] !== before[name]) {
        this.touched.add(name);
      }
    }
    this.composed.replaceChildren();
    this.show({ form, isChecking: true });
    this.save();
    this.number += 1;
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      this.send("edit");
    }, DEBOUNCE_MS);
  }

  private send(kind: FormAction): void {
    window.clearTimeout(this.timer);
    post({ kind, number: this.number, form: this.view.form });
  }

  private save(): void {
    const open = [...this.folds].flatMap(([section, { open }]) => (open ? [section] : []));
    saveState(this.view.form, open);
  }

  private fold(section: OptionsSection): HTMLDetailsElement {
    const fold = this.folds.get(section);
    if (fold === undefined) {
      throw new Error(section);
    }
    return fold;
  }

  private show(changes: Partial<View>): void {
    this.view = { ...this.view, ...changes };
    this.refresh();
  }

  private refresh(): void {
    this.view = { ...this.view, problems: this.allProblems() };
    for (const { refresh } of this.parts) {
      refresh(this.view);
    }
    const title = l10n.t("Run options: {0}", nameOf(this.view.form) || l10n.t("Command"));
    if (this.title.textContent !== title) {
      this.title.textContent = title;
    }
    this.startButton.setAttribute("aria-disabled", String(this.isStarting));
    const status = this.statusText();
    if (this.status.textContent !== status) {
      this.status.textContent = status;
    }
    const { isChecking, preview, isStale } = this.view;
    const command = preview === undefined || isStale || isChecking ? "" : spokenCommand(preview);
    const spoken = [status, command].filter((text) => text !== "").join(". ");
    const isSettled = !isChecking || status !== l10n.t("Checking…");
    if (isSettled && this.spoken.textContent !== spoken) {
      this.spoken.textContent = spoken;
    }
  }

  /** Mistakes first, in the order of the fields; a field with one has no other problem. */
  private allProblems(): PageProblem[] {
    const mistakes = mistakesOf(this.view.form);
    const own = [...mistakes]
      .filter(([field]) => this.touched.has(field))
      .map(([field, mistake]) => ({
        field,
        text: MISTAKES[mistake],
        blocks: true,
      }));
    return [...own, ...this.problems.filter(({ field }) => !mistakes.has(field))];
  }

  private statusText(): string {
    const { problems, isChecking } = this.view;
    if (this.isStarting) {
      return this.question === ""
        ? l10n.t("Starting…")
        : l10n.t("Waiting for your answer: {0}", this.question);
    }
    const blocking = problems.filter(({ blocks }) => blocks);
    const [first] = blocking.length > 0 ? blocking : problems;
    const [missing] = mistakesOf(this.view.form).values();
    if (blocking.length === 0 && missing !== undefined) {
      return MISTAKES[missing];
    }
    if (first === undefined) {
      return isChecking ? l10n.t("Checking…") : l10n.t("Ready to start");
    }
    if (!first.blocks) {
      return l10n.t("Warning: {0}", first.text);
    }
    return blocking.length === 1
      ? l10n.t("1 problem: {0}", first.text)
      : l10n.t("{0} problems. The first: {1}", blocking.length, first.text);
  }

  private composedTable(rows: readonly (readonly [string, string])[]): HTMLElement[] {
    if (rows.length === 0) {
      return [element("p", {}, l10n.t("The configuration can be composed."))];
    }
    const lines = rows.map(([key, value]) =>
      element("tr", {}, element("th", { scope: "row" }, key), element("td", {}, value)),
    );
    return [
      element(
        "table",
        {},
        element("caption", {}, l10n.t("Composed configuration")),
        element("tbody", {}, ...lines),
      ),
    ];
  }
}

/** The name of the program without its folders. */
function nameOf({ file, path }: OptionsForm): string {
  return (file || path).split("/").at(-1) ?? "";
}

onMessage((message) => {
  if (message.kind === "content") {
    const isFirst = shown === undefined;
    shown = new OptionsContent(
      message,
      isFirst ? (openSections(message.form) ?? message.open) : message.open,
    );
    if (isFirst) {
      window.scrollTo(0, scrollOffset());
    }
    const first = message.form.record ? "recordWorkers" : "args";
    document.getElementById(first)?.focus({ preventScroll: isFirst && scrollOffset() > 0 });
  } else if (message.kind === "untrusted") {
    shown = undefined;
    const manage = button(l10n.t("Manage Workspace Trust"), () => {
      post({ kind: "manageTrust" });
    });
    page.replaceChildren(
      element("h1", {}, l10n.t("Run options")),
      element("p", {}, l10n.t("Trust this workspace to run programs.")),
      manage,
    );
  } else if (message.kind === "announcement") {
    announce(message.sentence);
  } else if (message.kind !== "busy") {
    shown?.take(message);
  }
});

// In the whole page, and before a field takes the key.
document.addEventListener(
  "keydown",
  (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      shown?.start();
    }
  },
  true,
);
post({ kind: "ready" });
