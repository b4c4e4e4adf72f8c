/** What a question of ssh looks like: only text, whatever the other side wrote into it. */

import { plain } from "../../common/texts";
import type { Question } from "./messages";

/** A prompt may hold a menu of ways to prove who one is. */
const LONGEST = 1_000;
const MOST_LINES = 30;

/** The person's own name for the host comes first, since the prompt itself may say anything. */
export function questionTitle({ host }: Question): string {
  return host === "" ? "ssh asks" : `ssh to ${plain(host)} asks`;
}

/** The prompt for a box, which has room for one paragraph. */
export function questionLine({ prompt }: Question): string {
  return plainLines(prompt).join(" · ") || "An answer is wanted";
}

/** The prompt for a dialog, line by line. */
export function questionLines({ prompt }: Question): string {
  return plainLines(prompt).join("\n");
}

function plainLines(prompt: string): string[] {
  return prompt
    .slice(0, LONGEST)
    .split(/\r?\n/)
    .map((line) => plain(line, LONGEST))
    .filter((line) => line !== "")
    .slice(0, MOST_LINES);
}
