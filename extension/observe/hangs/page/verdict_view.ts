/** The verdict: the sentence, how sure it is, the culprits, the next step, and what was not sampled. */

import { l10n } from "../../../page/frame/l10n";
import type { Verbatim } from "../../../common/texts";
import { button, element, withCode } from "../../../page/frame/elements";
import { singleLine } from "../../../page/frame/texts";
import type { Picture, ReadingRow } from "../messages";
import type { ShownPicture } from "../page_messages";

import { exportButton, post } from "./editor";
import {
  culpritsText,
  insideTexts,
  nativeTexts,
  kindText,
  processesText,
  readInsideText,
  unseenTexts,
} from "./texts";

export class VerdictView {
  readonly root: HTMLElement;
  private readonly changes = element("div");
  private readonly again: HTMLElement;

  constructor({ picture, from, canSampleAgain, canReadInside }: ShownPicture, hasGroups: boolean) {
    const { verdict } = picture;
    const act =
      (kind: "again" | "readInside" | "readNative" | "save" | "compare" | "copyMarkdown") =>
      (): void => {
        post({ kind });
      };
    this.again = button(l10n.t("Sample Again"), act("again"), true);
    this.root = element(
      "header",
      {},
      element("h1", {}, ...withCode(singleLine(verdict.sentence))),
      element("p", { class: "kind" }, kindText(verdict)),
      ...facts(picture, hasGroups),
      element("p", { class: "from" }, `${singleLine(from)} · ${processesText(picture)}`),
      element(
        "div",
        { class: "buttons" },
        ...(canSampleAgain ? [this.again] : []),
        ...(canReadInside ? readInside(picture, act("readInside")) : []),
        ...(canSampleAgain ? readNative(picture, act("readNative")) : []),
        button(l10n.t("Save…"), act("save")),
        button(l10n.t("Compare With…"), act("compare")),
        button(l10n.t("Copy as Markdown"), act("copyMarkdown")),
        exportButton(),
      ),
      ...(verdict.kind === "unknown" ? readings(verdict.readings) : []),
      ...listed("NCCL RAS" satisfies Verbatim, "ras", [
        ...new Set(picture.ras.flatMap(({ sentences }) => sentences)),
      ]),
      ...listed(l10n.t("Native Code"), "native", nativeTexts(picture)),
      ...listed(l10n.t("From Inside"), "inside", insideTexts(picture)),
      ...listed(l10n.t("Not Sampled"), "warnings", unseenTexts(picture)),
      this.changes,
    );
  }

  showChanges(title: string, sentences: readonly string[]): void {
    this.changes.replaceChildren(
      element(
        "section",
        { class: "changes", "aria-labelledby": "changes-title" },
        element(
          "h2",
          { id: "changes-title", tabindex: "-1" },
          l10n.t("Changes Since {0}", singleLine(title)),
        ),
        element("ul", {}, ...sentences.map((each) => element("li", {}, singleLine(each)))),
      ),
    );
    document.getElementById("changes-title")?.focus();
  }

  /** While a new picture is taken the button is disabled, and its text says why. */
  showSampling(isOn: boolean): void {
    this.again.toggleAttribute("disabled", isOn);
    this.again.textContent = isOn ? l10n.t("Sampling…") : l10n.t("Sample Again");
  }
}

const INSIDE_BUTTONS = {
  readExceptions: l10n.t("Read Exceptions"),
  readTasks: l10n.t("Read Awaited Tasks"),
  readCounters: l10n.t("Read Collectives"),
};

function readInside(picture: Picture, pressed: () => void): HTMLElement[] {
  const name = readInsideText(picture);
  if (name === undefined) {
    return [];
  }
  const made = button(INSIDE_BUTTONS[name], pressed);
  made.title = l10n.t("Starts a thread in some processes for two minutes.");
  return [made];
}

/** Nothing for a picture that has native frames of several classes already, or no process. */
function readNative(picture: Picture, pressed: () => void): HTMLElement[] {
  if (picture.native.length > 1 || picture.classes.length === 0) {
    return [];
  }
  const made = button(l10n.t("Read Native Frames"), pressed);
  made.title = l10n.t("Stops one process of each class for a moment.");
  return [made];
}

function facts(picture: Picture, hasGroups: boolean): HTMLElement[] {
  const { next_step } = picture.verdict;
  const culprits = culpritsText(picture, hasGroups);
  const rows = [
    ...(culprits === "" ? [] : fact(l10n.t("Culprits"), [culprits])),
    ...(next_step === "" ? [] : fact(l10n.t("Next step"), withCode(singleLine(next_step)))),
  ];
  return rows.length === 0 ? [] : [element("dl", {}, ...rows)];
}

function fact(name: string, value: readonly (Node | string)[]): HTMLElement[] {
  return [element("dt", {}, name), element("dd", {}, ...value)];
}

/** The readings of an unknown verdict, of which none is sure enough. */
function readings(rows: readonly ReadingRow[]): HTMLElement[] {
  const items = rows.map((row) =>
    element(
      "li",
      {},
      element("strong", {}, kindText(row)),
      element("p", {}, ...withCode(singleLine(row.sentence))),
      element("p", { class: "note" }, ...withCode(singleLine(row.next_step))),
    ),
  );
  return items.length === 0
    ? []
    : [
        element(
          "section",
          { "aria-label": l10n.t("Likeliest Readings") },
          element("h2", {}, l10n.t("Likeliest Readings")),
          element("ol", {}, ...items),
        ),
      ];
}

function listed(title: string, name: string, sentences: readonly string[]): HTMLElement[] {
  return sentences.length === 0
    ? []
    : [
        element(
          "section",
          { class: name, "aria-label": title },
          element("h2", {}, title),
          element("ul", {}, ...sentences.map((each) => element("li", {}, each))),
        ),
      ];
}
