/** The trajectories of a group side by side; what all begin with is dimmed. */

import { filled } from "../../../common/filled";
import { button, element } from "../../reports/page/elements";
import type { GroupMember, TrajectoryGroup } from "../messages";
import type { TrajectoryTexts } from "../trajectory_texts";
import { noteText, numberText } from "./texts";

export function groupView(
  texts: TrajectoryTexts,
  { members, prompt, shared, equal_rewards }: TrajectoryGroup,
  open: (item: number) => void,
): HTMLElement {
  const [first] = members;
  const sentences = [
    ...(shared > 0 && members.length > 1 ? [filled(texts.groupSize, members.length, shared)] : []),
    ...(equal_rewards ? [texts.equalRewards] : []),
  ];
  return element(
    "section",
    { class: "group", "aria-labelledby": "group-title" },
    element("h2", { id: "group-title" }, filled(texts.group, first?.row.item ?? "")),
    ...sentences.map((sentence) => element("p", { class: "note" }, sentence)),
    ...(prompt === "" ? [] : [element("pre", {}, prompt)]),
    element(
      "div",
      { class: "members" },
      ...members.map((member) => memberView(texts, member, members.length > 1 ? shared : 0, open)),
    ),
  );
}

function memberView(
  texts: TrajectoryTexts,
  { row, completion, duplicate_of }: GroupMember,
  shared: number,
  open: (item: number) => void,
): HTMLElement {
  const notes = [
    noteText(texts, row),
    duplicate_of === null ? "" : filled(texts.sameAs, duplicate_of),
  ].filter((note) => note !== "");
  const title = filled(texts.member, row.item, numberText(row.reward));
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
