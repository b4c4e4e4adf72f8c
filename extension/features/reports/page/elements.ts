/** Elements of the pages of reports and pictures. */

import { element, withCode } from "../../presets/page/elements";

export { element, withCode };

/** The browser's own button, in the editor's look; `pressed` runs on a click, on Enter and on Space. */
export function button(title: string, pressed: () => void, isMain = false): HTMLButtonElement {
  const made = element("button", { type: "button", class: "button" }, title);
  made.classList.toggle("main", isMain);
  made.addEventListener("click", pressed);
  return made;
}
