/** A diagnosis from top to bottom: causes with their lines and fix, consequences, and other errors. */

import { l10n } from "../../page/frame/l10n";
import { button, element, withCode } from "../../page/frame/elements";

import type { Cause, Checked, Diagnosis, LogEvidence } from "../messages";
import { exportButton, pageState, post, savePageState } from "./editor";

export class DiagnosisView {
  readonly root: HTMLElement;
  private readonly again: HTMLElement;
  private readonly watch: HTMLElement;
  private isWatched = false;

  constructor(diagnosis: Diagnosis, from: string) {
    this.again = button(
      l10n.t("Diagnose Again"),
      () => {
        post({ kind: "again" });
      },
      true,
    );
    this.watch = button(l10n.t("Watch for Problems"), () => {
      post({ kind: "watch", isOn: !this.isWatched });
    });
    this.showWatching(null);
    const { causes, unknown, checked } = diagnosis;
    const isNamed = causes.some(({ sentence }) => sentence === diagnosis.sentence);
    const primary = causes.filter(({ secondary }) => !secondary);
    const secondary = causes.filter((cause) => cause.secondary);
    this.root = element(
      "article",
      {},
      element(
        "header",
        {},
        element("h1", {}, ...withCode(diagnosis.sentence)),
        ...(diagnosis.raised === "" ? [] : [element("p", {}, ...withCode(diagnosis.raised))]),
        element("p", { class: "from" }, `${from} · ${checkedText(checked)}`),
        element("div", { class: "buttons" }, this.again, this.watch, exportButton()),
      ),
      ...primary.map((cause) => this.cause(cause, cause.sentence === diagnosis.sentence)),
      ...this.folded(
        "secondary",
        (count) => l10n.t("Consequences ({0})", count),
        secondary.map((cause) => this.cause(cause, false)),
      ),
      ...this.folded(
        "unknown",
        (count) => (isNamed ? l10n.t("Other errors ({0})", count) : l10n.t("Errors ({0})", count)),
        unknown.length > 0 ? [this.lines(unknown)] : [],
        {
          count: unknown.length,
          isOpen: !isNamed,
        },
      ),
      ...this.folded(
        "unchecked",
        (count) => l10n.t("Not checked ({0})", count),
        checked.unchecked.map(({ path, reason }) => element("p", {}, `${path}: ${reason}`)),
      ),
    );
  }

  /** Only a cluster can be watched. */
  showWatching(isOn: boolean | null): void {
    this.watch.hidden = isOn === null;
    this.isWatched = isOn === true;
    this.watch.textContent = this.isWatched
      ? l10n.t("Stop Watching")
      : l10n.t("Watch for Problems");
  }

  /** While the logs are read again the button is disabled, and its text says why. */
  showReading(isOn: boolean): void {
    this.again.toggleAttribute("disabled", isOn);
    this.again.textContent = isOn ? l10n.t("Reading…") : l10n.t("Diagnose Again");
  }

  /** The sentence of the first cause is the title of the page, unless an error without a rule comes before it. */
  private cause(cause: Cause, isTitle: boolean): HTMLElement {
    const isMore = cause.count > cause.evidence.length;
    const counts = l10n.t("Lines: {0}, files: {1}", String(cause.count), String(cause.files));
    return element(
      "section",
      { class: `cause ${cause.severity}` },
      ...(isTitle ? [] : [element("h2", {}, ...withCode(cause.sentence))]),
      this.lines(cause.evidence),
      ...(isMore ? [element("p", { class: "note" }, counts)] : []),
      ...(cause.fix === "" ? [] : [this.fix(cause)]),
      ...Object.entries(cause.settings).map(([framework, setting]) =>
        this.copied(framework, setting, l10n.t("Copy the setting of {0}", framework)),
      ),
      ...(cause.command === "" ? [] : [this.copied("$", cause.command, l10n.t("Copy Command"))]),
      ...this.why(cause),
      element("p", { class: "note" }, l10n.t("Source of the rule: {0}", cause.source)),
    );
  }

  private fix(cause: Cause): HTMLElement {
    const copy = button(l10n.t("Copy Fix"), () => {
      post({ kind: "copy", text: cause.fix.replaceAll("`", "") });
    });
    return element(
      "div",
      { class: "fix" },
      element("p", {}, element("b", {}, l10n.t("Fix")), " ", ...withCode(cause.fix)),
      ...(cause.changes.length > 0 ? [this.fixButton(cause)] : []),
      copy,
    );
  }

  private fixButton({ id, changes }: Cause): HTMLElement {
    const made = button(l10n.t("Fix…"), () => {
      post({ kind: "fix", id });
    });
    made.classList.add("needs-editor");
    const settings = changes.map(({ name, value }) => `${name}=${value}`);
    made.title = l10n.t("Opens the options of the run with: {0}", settings.join(", "));
    return made;
  }

  private why({ why, secondary }: Cause): HTMLElement[] {
    const heading = secondary ? l10n.t("Why it follows") : l10n.t("Why the others failed");
    return why === ""
      ? []
      : [element("p", { class: "why" }, element("b", {}, heading), " ", ...withCode(why))];
  }

  /** The text to copy: the setting of a framework, or a command for a terminal. */
  private copied(name: string, text: string, label: string): HTMLElement {
    const copy = button(l10n.t("Copy"), () => {
      post({ kind: "copy", text });
    });
    copy.setAttribute("aria-label", label);
    return element(
      "div",
      { class: "fix" },
      element("p", {}, `${name} `, element("code", {}, text)),
      copy,
    );
  }

  private lines(evidence: readonly LogEvidence[]): HTMLElement {
    return element("ul", { class: "lines" }, ...evidence.map((item) => this.line(item)));
  }

  private line({ path, line, text, time, node, worker, rank }: LogEvidence): HTMLElement {
    const name = path.split("/").at(-1) ?? path;
    const place = element("button", { type: "button", class: "place" }, `${name}:${line}`);
    place.title = path;
    place.addEventListener("click", () => {
      post({ kind: "open", path, line });
    });
    const clock = time === null ? "" : new Date(time * 1000).toLocaleString();
    const process = rank === null ? worker : `${worker} ${l10n.t("rank {0}", String(rank))}`;
    const facts = [clock, process.trim(), node].filter((fact) => fact !== "").join(" · ");
    // A check of a node has no line.
    const at = line > 0 ? place : element("span", { class: "note" }, path);
    return element(
      "li",
      {},
      element("p", {}, at, " ", element("span", { class: "note" }, facts)),
      element("code", { class: "text" }, text),
    );
  }

  /** A part that is closed until the user opens it, and stays as the user left it. */
  private folded(
    id: string,
    title: (count: number) => string,
    children: readonly HTMLElement[],
    { count = children.length, isOpen = false } = {},
  ): HTMLElement[] {
    if (children.length === 0) {
      return [];
    }
    const made = element(
      "details",
      { class: id },
      element("summary", {}, title(count)),
      ...children,
    );
    made.open = isOpen || pageState().open.includes(id);
    made.addEventListener("toggle", () => {
      const others = pageState().open.filter((each) => each !== id);
      savePageState({ open: made.open ? [...others, id] : others });
    });
    return [made];
  }
}

function checkedText({ files }: Checked): string {
  return files === 1 ? l10n.t("Checked {0} file", files) : l10n.t("Checked {0} files", files);
}
