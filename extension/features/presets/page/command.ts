/** The section “Command”: what would be started, and what a preset changes of it. */

import { filled } from "../../../common/filled";
import type { PagePreview } from "../options_messages";
import { folded, lineDiff, type DiffLine } from "../options_model";
import type { PageTexts } from "../options_texts";
import { button, type Part } from "./controls";
import { element } from "./elements";
import type { Acts } from "./sections";

/** More of a command is not read aloud after each change. */
const LONGEST_SPOKEN = 200;

/** What a screen reader says of the command once it is known: its arguments, or how many of its lines change. */
export function spokenCommand(texts: PageTexts, { before, after }: PagePreview): string {
  const changed = lineDiff(before, after).filter(({ mark }) => mark !== " ").length;
  return changed === 0
    ? filled(texts.spokenCommand, commandLine(after))
    : filled(texts.spokenChanges, changed);
}

/** The arguments, which have a line each up to the first empty line; the line before them names the folder. */
function commandLine(text: string): string {
  const lines = text.split("\n");
  const own = lines.slice(0, lines.indexOf("")).filter((line) => !line.startsWith("# "));
  const command = own.map((line) => line.trim()).join(" ");
  return command.length > LONGEST_SPOKEN ? `${command.slice(0, LONGEST_SPOKEN)}…` : command;
}

export function commandSection(texts: PageTexts, acts: Acts): Part {
  const box = element("div", {
    class: "command",
    role: "group",
    tabindex: "0",
    "aria-labelledby": "command",
  });
  const submits = element("p", { class: "caution" });
  const diff = button(texts.showDiff, () => {
    acts.send("showDiff");
  });
  const note = element("p", { class: "hint" });
  let drawn = "";
  return {
    root: element(
      "section",
      { "aria-labelledby": "command" },
      element("h2", { id: "command" }, texts.commandSection),
      note,
      submits,
      box,
      element("div", { class: "buttons" }, diff),
    ),
    refresh: ({ preview, isChecking, isStale }) => {
      box.classList.toggle("old", isStale);
      submits.hidden = preview === undefined || preview.confirm === "";
      const isChanged = preview !== undefined && preview.before !== preview.after;
      diff.hidden = !isChanged;
      note.textContent = isChanged ? texts.changesNote : texts.commandNote;
      if (preview === undefined) {
        if (drawn === "") {
          box.textContent = isChecking ? texts.checking : texts.noCommandYet;
        }
        return;
      }
      submits.textContent = filled(texts.submits, preview.confirm);
      const key = `${preview.before}\0${preview.after}`;
      if (key !== drawn) {
        drawn = key;
        const lines = lineDiff(preview.before, preview.after);
        box.classList.toggle("changed", isChanged);
        box.replaceChildren(
          ...(isChanged
            ? folded(lines).map((line) => drawnLine(texts, line))
            : lines.map(({ text }) => element("div", {}, text))),
        );
      }
    },
  };
}

/** The sign tells of a change without colours, and a text without eyes. */
function drawnLine(texts: PageTexts, line: DiffLine | number): HTMLElement {
  if (typeof line === "number") {
    return element(
      "div",
      { class: "gap" },
      `… ${line === 1 ? texts.lineLeftOut : filled(texts.linesLeftOut, line)}`,
    );
  }
  const { mark, text } = line;
  const shown = `${mark} ${text}`;
  if (mark === " ") {
    return element("div", {}, shown);
  }
  const isAdded = mark === "+";
  const sign = element("span", { "aria-hidden": "true" }, shown);
  const spoken = element(
    "span",
    { class: "unseen" },
    filled(isAdded ? texts.added : texts.removed, text),
  );
  return element("div", { class: isAdded ? "added" : "removed" }, sign, spoken);
}
