/** The trajectories of a group side by side; what all begin with is dimmed. */

import { l10n } from "../../page/frame/l10n";
import { button, element } from "../../page/frame/elements";
import type { GroupMember, TrajectoryGroup } from "../messages";

import { noteText, numberText } from "./texts";

export function groupView(
  { members, prompt, shared, equal_rewards }: TrajectoryGroup,
  open: (item: number) => void,
): HTMLElement {
  const [first] = members;
  const sentences = [
    ...(shared > 0 && members.length > 1
      ? [l10n.t("{0} completions begin with the same {1} characters.", members.length, shared)]
      : []),
    ...(equal_rewards ? [l10n.t("All rewards are equal: no advantage.")] : []),
  ];
  return element(
    "section",
    { class: "group", "aria-labelledby": "group-title" },
    element("h2", { id: "group-title" }, l10n.t("Group of Trajectory {0}", first?.row.item ?? "")),
    ...sentences.map((sentence) => element("p", { class: "note" }, sentence)),
    ...(prompt === "" ? [] : [element("pre", {}, prompt)]),
    element(
      "div",
      { class: "members" },
      ...members.map((member) => memberView(member, members.length > 1 ? shared : 0, open)),
    ),
  );
}

function memberView(
  { row, completion, duplicate_of }: GroupMember,
  shared: number,
  open: (item: number) => void,
): HTMLElement {
  const notes = [
    noteText(row),
    duplicate_of === null ? "" : l10n.t("same as {0}", duplicate_of),
  ].filter((note) => note !== "");
  const title = l10n.t("{0} · reward {1}", row.item, numberText(row.reward));
  return element(
    "div",
    { class: "member" },
    element(
      "div",
      { class: "head" },
      button(title, () => {
        open(row.item);
      }),
      ...notes.map((note) => element("span", { class: "badge" }, note)),
    ),
    element(
      "pre",
      {},
      element("span", { class: "shared" }, completion.slice(0, shared)),
      completion.slice(shared),
    ),
  );
}
