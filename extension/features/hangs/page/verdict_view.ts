/** The verdict: the sentence, how sure it is, the culprits, the next step, and what was not sampled. */

import { filled } from "../../../common/filled";
import type { Verbatim } from "../../../common/texts";
import { button, element, withCode } from "../../reports/page/elements";
import { singleLine } from "../../reports/page/texts";
import type { Picture, ReadingRow } from "../messages";
import type { ShownPicture } from "../page_messages";
import type { PictureTexts } from "../picture_texts";
import { post } from "./editor";
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

  constructor(
    private readonly texts: PictureTexts,
    { picture, from, canSampleAgain, canReadInside }: ShownPicture,
    hasGroups: boolean,
  ) {
    const { verdict } = picture;
    const act =
      (kind: "again" | "readInside" | "readNative" | "save" | "compare" | "copyMarkdown") =>
      (): void => {
        post({ kind });
      };
    this.again = button(texts.sampleAgain, act("again"), true);
    this.root = element(
      "header",
      {},
      element("h1", {}, ...withCode(singleLine(verdict.sentence))),
      element("p", { class: "kind" }, kindText(texts, verdict)),
      ...facts(texts, picture, hasGroups),
      element("p", { class: "from" }, `${singleLine(from)} · ${processesText(texts, picture)}`),
      element(
        "div",
        { class: "buttons" },
        ...(canSampleAgain ? [this.again] : []),
        ...(canReadInside ? readInside(texts, picture, act("readInside")) : []),
        ...(canSampleAgain ? readNative(texts, picture, act("readNative")) : []),
        button(texts.save, act("save")),
        button(texts.compare, act("compare")),
        button(texts.copyMarkdown, act("copyMarkdown")),
      ),
      ...(verdict.kind === "unknown" ? readings(texts, verdict.readings) : []),
      ...listed("NCCL RAS" satisfies Verbatim, "ras", [
        ...new Set(picture.ras.flatMap(({ sentences }) => sentences)),
      ]),
      ...listed(texts.native, "native", nativeTexts(texts, picture)),
      ...listed(texts.inside, "inside", insideTexts(texts, picture)),
      ...listed(texts.unseen, "warnings", unseenTexts(texts, picture)),
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
          filled(this.texts.changesSince, singleLine(title)),
        ),
        element("ul", {}, ...sentences.map((each) => element("li", {}, singleLine(each)))),
      ),
    );
    document.getElementById("changes-title")?.focus();
  }

  /** While a new picture is taken the button is disabled, and its text says why. */
  showSampling(isOn: boolean): void {
    this.again.toggleAttribute("disabled", isOn);
    this.again.textContent = isOn ? this.texts.sampling : this.texts.sampleAgain;
  }
}

function readInside(texts: PictureTexts, picture: Picture, pressed: () => void): HTMLElement[] {
  const name = readInsideText(picture);
  if (name === undefined) {
    return [];
  }
  const made = button(texts[name], pressed);
  made.title = texts.readInsideHint;
  return [made];
}

/** Nothing for a picture that has native frames of several classes already, or no process. */
function readNative(texts: PictureTexts, picture: Picture, pressed: () => void): HTMLElement[] {
  if (picture.native.length > 1 || picture.classes.length === 0) {
    return [];
  }
  const made = button(texts.readNative, pressed);
  made.title = texts.readNativeHint;
  return [made];
}

function facts(texts: PictureTexts, picture: Picture, hasGroups: boolean): HTMLElement[] {
  const { next_step } = picture.verdict;
  const culprits = culpritsText(picture, hasGroups);
  const rows = [
    ...(culprits === "" ? [] : fact(texts.culprits, [culprits])),
    ...(next_step === "" ? [] : fact(texts.nextStep, withCode(singleLine(next_step)))),
  ];
  return rows.length === 0 ? [] : [element("dl", {}, ...rows)];
}

function fact(name: string, value: readonly (Node | string)[]): HTMLElement[] {
  return [element("dt", {}, name), element("dd", {}, ...value)];
}

/** The readings of an unknown verdict, of which none is sure enough. */
function readings(texts: PictureTexts, rows: readonly ReadingRow[]): HTMLElement[] {
  const items = rows.map((row) =>
    element(
      "li",
      {},
      element("strong", {}, kindText(texts, row)),
      element("p", {}, ...withCode(singleLine(row.sentence))),
      element("p", { class: "note" }, ...withCode(singleLine(row.next_step))),
    ),
  );
  return items.length === 0
    ? []
    : [
        element(
          "section",
          { "aria-label": texts.readings },
          element("h2", {}, texts.readings),
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
