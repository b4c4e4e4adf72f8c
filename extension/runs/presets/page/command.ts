/** The section “Command”: what would be started, and what a preset changes of it. */

import { l10n } from "../../../page/frame/l10n";
import type { PagePreview } from "../options_messages";
import { folded, lineDiff, type DiffLine } from "../options_model";

import { button, type Part } from "./controls";
import { element } from "../../../page/frame/elements";
import type { Acts } from "./sections";

/** More of a command is not read aloud after each change. */
const LONGEST_SPOKEN = 200;

/** The text for a screen reader once the command is known: its arguments, or how many of its lines change. */
export function spokenCommand({ before, after }: PagePreview): string {
  const changed = lineDiff(before, after).filter(({ mark }) => mark !== " ").length;
  return changed === 0
    ? l10n.t("Command: {0}", commandLine(after))
    : l10n.t("Changed lines of the command: {0}", changed);
}

/** The arguments, which have a line each up to the first empty line; the line before them names the folder. */
function commandLine(text: string): string {
  const lines = text.split("\n");
  const own = lines.slice(0, lines.indexOf("")).filter((line) => !line.startsWith("# "));
  const command = own.map((line) => line.trim()).join(" ");
  return command.length > LONGEST_SPOKEN ? `${command.slice(0, LONGEST_SPOKEN)}…` : command;
}

export function commandSection(acts: Acts): Part {
  const box = element("div", {
    class: "command",
    role: "group",
    tabindex: "0",
    "aria-labelledby": "command",
  });
  const submits = element("p", { class: "caution" });
  const diff = button(l10n.t("Open Diff"), () => {
    acts.send("showDiff");
  });
  const note = element("p", { class: "hint" });
  let drawn = "";
  return {
    root: element(
      "section",
      { "aria-labelledby": "command" },
      element("h2", { id: "command" }, l10n.t("Command")),
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
      note.textContent = isChanged
        ? l10n.t("Secrets are hidden. Lines with + and - are changes.")
        : l10n.t("Secrets are hidden.");
      if (preview === undefined) {
        if (drawn === "") {
          box.textContent = isChecking
            ? l10n.t("Checking…")
            : l10n.t("Fix the errors above to see the command.");
        }
        return;
      }
      submits.textContent = l10n.t("Start asks before it submits: {0}", preview.confirm);
      const key = `${preview.before}\0${preview.after}`;
      if (key !== drawn) {
        drawn = key;
        const lines = lineDiff(preview.before, preview.after);
        box.classList.toggle("changed", isChanged);
        box.replaceChildren(
          ...(isChanged
            ? folded(lines).map((line) => drawnLine(line))
            : lines.map(({ text }) => element("div", {}, text))),
        );
      }
    },
  };
}

/** The sign tells of a change without colours, and a text without eyes. */
function drawnLine(line: DiffLine | number): HTMLElement {
  if (typeof line === "number") {
    return element(
      "div",
      { class: "gap" },
      `… ${line === 1 ? l10n.t("1 unchanged line") : l10n.t("{0} unchanged lines", line)}`,
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
    isAdded ? l10n.t("Added line: {0}", text) : l10n.t("Removed line: {0}", text),
  );
  return element("div", { class: isAdded ? "added" : "removed" }, sign, spoken);
}
