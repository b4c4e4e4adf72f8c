/** A diagnosis from top to bottom: causes with their lines and fix, what follows from them, and what no rule explains. */

import { filled } from "../../../common/filled";
import { button, element, withCode } from "../../reports/page/elements";
import type { DiagnosisTexts } from "../diagnosis_texts";
import type { Cause, Checked, Diagnosis, LogEvidence } from "../messages";
import { pageState, post, savePageState } from "./editor";

export class DiagnosisView {
  readonly root: HTMLElement;
  private readonly again: HTMLElement;
  private readonly watch: HTMLElement;
  private isWatched = false;

  constructor(
    private readonly texts: DiagnosisTexts,
    diagnosis: Diagnosis,
    from: string,
  ) {
    this.again = button(
      texts.again,
      () => {
        post({ kind: "again" });
      },
      true,
    );
    this.watch = button(texts.watch, () => {
      post({ kind: "watch", isOn: !this.isWatched });
    });
    this.showWatching(null);
    const { causes, unknown, checked } = diagnosis;
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
        element("p", { class: "from" }, `${from} · ${checkedText(texts, checked)}`),
        element("div", { class: "buttons" }, this.again, this.watch),
      ),
      ...primary.map((cause, at) => this.cause(cause, at === 0)),
      ...this.folded(
        "secondary",
        texts.secondary,
        secondary.map((cause) => this.cause(cause, false)),
      ),
      ...this.folded("unknown", texts.unknown, unknown.length > 0 ? [this.lines(unknown)] : [], {
        count: unknown.length,
        isOpen: causes.length === 0,
      }),
      ...this.folded(
        "unchecked",
        texts.unchecked,
        checked.unchecked.map(({ path, reason }) => element("p", {}, `${path}: ${reason}`)),
      ),
    );
  }

  /** Only a cluster can be watched. */
  showWatching(isOn: boolean | null): void {
    this.watch.hidden = isOn === null;
    this.isWatched = isOn === true;
    this.watch.textContent = this.isWatched ? this.texts.unwatch : this.texts.watch;
  }

  /** While the logs are read again the button is disabled, and its text says why. */
  showReading(isOn: boolean): void {
    this.again.toggleAttribute("disabled", isOn);
    this.again.textContent = isOn ? this.texts.reading : this.texts.again;
  }

  /** The sentence of the first cause is the title of the page. */
  private cause(cause: Cause, isTitle: boolean): HTMLElement {
    const { texts } = this;
    const isMore = cause.count > cause.evidence.length;
    const counts = filled(texts.counts, String(cause.count), String(cause.files));
    const copy = button(texts.copyFix, () => {
      post({ kind: "copy", text: cause.fix.replaceAll("`", "") });
    });
    return element(
      "section",
      { class: `cause ${cause.severity}` },
      ...(isTitle ? [] : [element("h2", {}, ...withCode(cause.sentence))]),
      this.lines(cause.evidence),
      ...(isMore ? [element("p", { class: "note" }, counts)] : []),
      element(
        "div",
        { class: "fix" },
        element("p", {}, element("b", {}, texts.fix), " ", ...withCode(cause.fix)),
        ...(cause.changes.length > 0 ? [this.fixButton(cause)] : []),
        copy,
      ),
      ...Object.entries(cause.settings).map(([framework, setting]) =>
        this.copied(framework, setting, filled(this.texts.copySetting, framework)),
      ),
      ...(cause.command === "" ? [] : [this.copied("$", cause.command, this.texts.copyCommand)]),
      ...this.why(cause),
      element("p", { class: "note" }, filled(texts.source, cause.source)),
    );
  }

  private fixButton({ id, changes }: Cause): HTMLElement {
    const made = button(this.texts.applyFix, () => {
      post({ kind: "fix", id });
    });
    const settings = changes.map(({ name, value }) => `${name}=${value}`);
    made.title = filled(this.texts.changes, settings.join(", "));
    return made;
  }

  private why({ why, secondary }: Cause): HTMLElement[] {
    const { texts } = this;
    const heading = secondary ? texts.whySecondary : texts.why;
    return why === ""
      ? []
      : [element("p", { class: "why" }, element("b", {}, heading), " ", ...withCode(why))];
  }

  /** What can be copied: the setting of a framework, or a command for a terminal. */
  private copied(name: string, text: string, label: string): HTMLElement {
    const copy = button(this.texts.copy, () => {
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
    const process = rank === null ? worker : `${worker} ${filled(this.texts.rank, String(rank))}`;
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
    title: string,
    children: readonly HTMLElement[],
    { count = children.length, isOpen = false } = {},
  ): HTMLElement[] {
    if (children.length === 0) {
      return [];
    }
    const made = element(
      "details",
      { class: id },
      element("summary", {}, filled(title, String(count))),
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

function checkedText(texts: DiagnosisTexts, { files, bytes, rules }: Checked): string {
  const text = files === 1 ? texts.checkedFile : texts.checked;
  return filled(text, String(files), (bytes / 1e6).toFixed(1), String(rules));
}
