/** Elements of the page of a report. */

import { element, type Child } from "../../presets/page/elements";

export { element };

/** A button of the editor's own look; `pressed` runs on a click, on Enter and on Space. */
export function button(title: string, pressed: () => void, isMain = false): HTMLElement {
  const made = element("vscode-button", isMain ? {} : { secondary: "" }, title);
  made.addEventListener("click", pressed);
  return made;
}

/** Shows text between backticks, a command, as code. */
export function withCode(text: string): Child[] {
  return text.split("`").map((part, at) => (at % 2 === 0 ? part : element("code", {}, part)));
}
